"""The files of the default model; ``NOTICE.md`` says where they come from."""
