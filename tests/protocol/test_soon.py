"""Once in the next turn of the loop, however often it is asked for."""

import asyncio

from brain_daemon.protocol.soon import Soon


def test_one_that_asks_for_itself_twice_does_not_multiply() -> None:
    ran = 0

    def work() -> None:
        nonlocal ran
        ran += 1
        again()
        again()

    again = Soon(work)

    async def turns() -> int:
        again()
        for _ in range(10):
            await asyncio.sleep(0)
        return ran

    assert asyncio.run(turns()) == 10


def test_after_one_that_failed_it_can_be_asked_for_again() -> None:
    ran = 0

    def fail() -> None:
        nonlocal ran
        ran += 1
        raise MemoryError

    again = Soon(fail)

    async def turns() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        for _ in range(3):
            again()
            await asyncio.sleep(0)

    asyncio.run(turns())
    assert ran == 3
