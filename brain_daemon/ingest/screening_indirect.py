"""Orders that do not use an order's words; the table has the form of `screening_rules.RULES`.

They tell that former rules have lapsed, that a text outranks others, who a reader now is, or what a
program that reads this has to do. One such sentence alone is often an ordinary one, so that most
patterns ask for a word that only a machine's reader would be told: its instructions, its developer,
the user that it works for.
"""

from brain_daemon.ingest.screening_rules import START

# What a model was given; "rules" and their like are what people are given, too.
_BRIEF = (
    r"(?:instructions?|directives?|directions?|guidelines?|guidance|system (?:prompt|message)|"
    r"prompt|"
    r"programming|brief(?:ing)?|safety (?:\w+ )?(?:rules|guidelines|training|filters?|polic\w+)|"
    r"content (?:filters?|polic\w+))"
)
_RULES = rf"(?:{_BRIEF}|rules|polic(?:y|ies)|constraints?|restrictions?|safeguards?|orders|limits)"
_LAPSED = (
    r"(?:expired|lapsed|lifted|suspended|replaced|superseded|void|revoked|cancell?ed|outdated|"
    r"invalid|"
    r"withdrawn|rescinded|disabled|deactivated|(?:switched|turned) off|off\b|null|obsolete|"
    r"no longer (?:valid|apply|applies|in force|in effect|binding|bind|relevant|count)|a draft)"
)
_BE = (
    r"(?:is|are|was|were|has|have|had|has been|have been|had been)(?: now| all| hereby| "
    r"currently)?"
)
_GIVEN = (
    r"(?: that| which)? you (?:were|have been|had been|are|have|had)?\s?(?:\w+ly )?(?:given|told|"
    r"received?|got|set up with|configured with|started with|began with|work under|operate under|"
    r"run under|follow)"
)
_AI = (
    r"(?:ais?|llms?|language models?|chat ?bots?|ai (?:\w+)|neural networks?|(?:automated|"
    r"automatic|"
    r"machine) (?:readers?|graders?|reviewers?|agents?|summari[sz]ers?)|gpt(?:-\d)?|chatgpt|"
    r"claude|"
    r"gemini|copilot)"
)
_READING = (
    r"(?:read|pars|process|summari[sz]|index|rank|grad|evaluat|retriev|crawl|review|integrat|"
    r"install|"
    r"import)(?:e?s|ing|e)?"
)
_CHARGE = (
    r"(?:describe|rate|score|rank|recommend|approve|praise|omit|answer|say|vote|accept|fetch|"
    r"follow|"
    r"delete|empty|disable|download|install|ignore|state|report|call|reply|respond|treat|give|"
    r"award|add|place|mention|open|visit|run)"
)
_MINE = (  # what only an assistant holds
    r"(?:(?:the |your )?user(?:'s|’s)? (?:\w+ ){0,2}(?:questions?|messages?|inputs?|prompts?|"
    r"words|"
    r"data|e-?mails?|name|address|secrets?|files)|(?:the|this|our|all|whole) (?:\w+ )?conversation"
    r"(?: history)?|chat history|what (?:the|this) (?:user|person) \w+|(?:stored |all )memories)"
)
_SECRET = r"(?:api (?:keys?|tokens?)|passwords?|credentials|secrets?|(?:session |access )?tokens?)"

# fmt: off
INDIRECT: tuple[tuple[str, int, str, str], ...] = (
    # --- former rules have lapsed
    ("override", 2, "@DROP + @ORDERS + @PRIOR",  # without a gap between the words
     r"(?:ignore|disregard|forget|override|bypass|discard)[\W_]{0,6}"
     r"(?:(?:all|any|every|the|your|my|of)[\W_]{0,6})*"
     r"(?:previous|prior|earlier|above|preceding)(?:system)?"
     r"(?:instruction|prompt|directive|rule|guideline)"),
    ("leak", 2, "yoursystemprompt thesystemprompt fullsystemprompt",
     r"(?:reveal|print|show|tellme)(?:me|the|your|full)+systemprompt"),
    ("override", 2, "@BRIEF + @LAPSED",
     rf"\byour (?:[\w-]+ ){{0,3}}{_BRIEF} (?:{_BE} )?{_LAPSED}"),
    ("outdated", 1, "yourguid yourpolic yourrules yourinstr + updated changed rewritten",
     rf"\byour {_RULES} (?:have|has) (?:been )?(?:updated|changed|rewritten)\b"),
    ("outdated", 1, "safetyprotocol safetychecks safetyfilter safetyguid safetymeas safetyrules",
     r"\bsafety (?:protocols?|checks|filters?|guidelines|measures|rules) (?:are |have been "
     r")?(?:now )?"
     r"(?:disabled|off\b|suspended|lifted|deactivated)"),
    ("allow", 1, "younow younowallow youmustnow youwillnow + allow permit",
     r"\byou (?:now|must now|will now) (?:allow|permit)\b"),
    ("new", 1, "override", r"(?:\A|\n)\W*override\s*:"),
    ("unbound", 1, "unrestrictedresp unrestrictedans withoutrestric",
     r"\bunrestricted (?:response|answer|output)"),
    ("override", 2, "developerinstr systeminstr operatorinstr systemmess developermess "
     "systemrules "
     "developerandsys systemanddev + @DROP",
     rf"{START}(?:(?:ignore|disregard|forget|bypass|override) (?:(?:all|any|every|the) "
     rf")+(?:developer|"
     r"system|operator)(?: (?:and|or) (?:system|developer|operator))? (?:instructions?|messages?|"
     r"prompts?|"
     r"rules))"),
    ("override", 1, "allrules anyrules allinstr anyinstr allguid anyguid everyrule everyinstr + "
     "@DROP",
     rf"{START}(?:(?:ignore|disregard|forget|bypass|override|drop) (?:all|any|every)(?: of)?(?: "
     rf"the| your)?"
     r" (?:rules?|instructions?|guidelines?)\b)"),
    ("override", 2, "instructedto orderedto commandedto requiredto directedto + ignore disregard "
     "forget "
     "bypass override",
     r"\byou are (?:hereby |now )?(?:instructed|ordered|commanded|required|directed) to (?:ignore|"
     r"disregard|forget|bypass|override)\b"),
    ("decode", 2, "decodethe decodethis decodeit decodeand decodethen",
     r"\bdecode\b[^.\n]{0,40}\b(?:and|then) (?:follow|obey|comply|execute (?:it|the instruc|what)|"
     r"carry (?:it )?out|do (?:exactly )?what (?:it|this|that) says)"),
    ("outdated", 1, "@OURRULES + @LAPSED",
     rf"\b(?:your|normal|usual|all|these|the) (?:[\w-]+ ){{0,2}}{_RULES} (?:{_BE} )?{_LAPSED}"),
    ("override", 2, "@GIVEN + @RULES + @LAPSED countsany countanym",
     rf"\b{_RULES}{_GIVEN}\b[^.\n]{{0,40}}?\b(?:{_LAPSED}|(?:counts?|applies|apply) (?:any|no) "
     rf"?more)"),
    ("override", 2, "youweretold youweregiven youhavebeentold + counts applies matters valid",
     r"\b(?:nothing|none of what|anything) (?:that )?you (?:were|have been) (?:told|"
     r"given)[^.\n]{0,40}"
     r"\b(?:counts?|applies|matters|is valid)\b"),
    ("override", 2, "asthough pretend imagine behaveasif actasif + @RULES",
     rf"{START}(?:(?:pretend|imagine|assume|act|behave|answer|respond|continue|proceed)(?: as "
     rf"(?:if|"
     rf"though))?(?: that)?[^.\n]{{0,30}}\b(?:your|the (?:system|developer\S*|above|earlier|"
     rf"previous|"
     rf"initial|original)|these|all|any) (?:\w+ )?(?:{_RULES}|message)\b[^.\n]{{0,40}}\b(?:never|"
     rf"not|"
     r"no longer|n't) (?:been |be |there|exist|apply|written|given|there))"),
    ("override", 2, "asthough asifit asifthey + before above earlier preced",
     r"\b(?:treat|regard|consider|take)[^.\n]{0,12}? ?(?:everything|all|whatever|"
     r"anything)[^.\n]{0,30}"
     r"\b(?:before|above|earlier|preced\w+)\b[^.\n]{0,40}\bas (?:if|though)[^.\n]{0,24}never\b|"
     r"\b(?:whatever|everything|all)(?: that)? (?:came|comes|stood|stands|was said|went) "
     r"(?:before|"
     r"above)[^.\n]{0,40}\b(?:as (?:if|though)[^.\n]{0,24}never|ignored|disregarded|void)"),
    ("override", 2, "precedenceover priorityover outrank override supersede + @FORMER",
     r"\b(?:this|these|the following)(?: \w+){0,2} (?:outranks?|overrides?|supersedes?|ha(?:s|ve) "
     r"(?:priority|precedence) over|takes? (?:precedence|priority) over) (?:\w+ ){0,2}?(?:your|"
     r"(?:the|"
     rf"any|all) (?:system|developer\S*|other|earlier|previous|prior|original)) (?:\w+ "
     rf")?(?:{_RULES}|"
     r"message)"),
    ("override", 2, "prioritise prioritize + anything everything whatever allthat",
     r"\bprioriti[sz]e (?:this|these)(?: \w+)? (?:over|above) (?:anything|everything|whatever|all)"
     r"[^.\n]{0,24}\b(?:your|developers?|operator|system|told)"),
    ("override", 2,
     "younolonger youneednot youneedno youdonotneed youdonothave youdontneed youdonthave "
     "youarenol + @RULES",
     r"\byou (?:no longer (?:need|have) to|need not|need no longer|are no longer (?:required|"
     r"obliged|"
     r"bound) to|do(?: not|n'?t) (?:need|have) to) (?:heed|follow|obey|respect|observe|honou?r|"
     r"comply "
     rf"with|stick to|abide by)[^.\n]{{0,20}}\b(?:your {_RULES}|{_RULES}[^.\n]{{0,24}}\b(?:you "
     rf"(?:were|"
     r"are|have)|your (?:developers?|makers?|creators?|operator)))"),
    ("override", 2, "bindsyou bindyou bindingonyou nolonger + earlier previous former prior",
     rf"\b(?:earlier|previous|former|prior) (?:\w+ )?{_RULES} (?:no longer )?(?:binds?|binding "
     rf"on) you"),
    ("authority", 1, "developer operator administrator yourcreator yourmaker + @ALLOWED",
     r"\b(?:your|the) (?:operator|developer|administrator|creator|maker|owner)s? (?:has|have) "
     r"(?:\w+ly )?"
     r"(?:decided|approved|authori[sz]ed|unlocked|lifted|agreed|disabled|switched off|permitted)"),
    ("override", 2, "yourdevelop youroperator yourmaker yourcreator + @RULES",
     r"\byour (?:developers?|operators?|makers?|creators?) (?:has|have|had) "
     r"[^.\n]{0,24}\b(?:lift\w*|"
     rf"suspend\w*|remove\w*|withdr\w+|revoke\w*|switch\w* off|disable\w*) (?:the |your |all "
     rf")?{_RULES}"),
    ("authority", 1,
     "iamyour thisisyour imyourc imyourd imyourm imyoura iamthecre iamthedev iamthemak iamtheadm "
     "thisisthedev thisisthecre thisistheadm",
     r"\b(?:i am|this is|i'm) (?:your|the) (?:creator|developer|maker|administrator|admin)\b"),
    ("override", 2, "ignoreabove ignoretheabove",
     r"(?:\A|[.:>\]\n] ?)ignore (?:the )?above\b[\s.!:,]{1,3}(?:\Z|assistant|human|user|respond|"
     r"output|"
     r"reply|print|say|instead)"),
    ("override", 2, "@DROP + priorcontext previouscontext earliercontext abovecontext",
     rf"{START}(?:(?:ignore|forget|disregard|drop|discard) (?:all |any |the )?(?:prior|previous|"
     rf"earlier|"
     r"above) context)"),
    ("override", 1, "@DROP + safety restriction safeguard",
     rf"{START}(?:(?:ignore|disregard|bypass|override|drop) (?:all |any |every |the |your "
     rf")?(?:safety|"
     r"restrictions|safeguards))"),
    ("new", 1, "priorityinstr systeminstr urgentinstr newtask newbrief",
     r"\bnew (?:(?:priority|system|urgent) instructions?|task|brief)\s*:"),
    ("void", 1, "priortask previoustask currenttask originaltask",
     r"\b(?:prior|previous|current|original) task (?:is|was|has been) (?:cancelled|void|replaced|"
     r"over)"),
    # --- what a model was told
    ("leak", 2, "@TOLDYOU + @SHOWN",
     rf"{START}(?:(?:quote|reproduce|recite|copy|repeat|write|print|output|list|echo|summari[sz]e|"
     rf"turn|"
     r"translate|show|state|give|begin|start|disclose|display|dump|paraphrase|"
     r"reveal)\b[^.\n]{0,50}?"
     rf"(?:{_BRIEF}{_GIVEN}|what you were told (?:at the (?:start|beginning|outset)|first|before)|"
     r"you were (?:configured|initiali[sz]ed|programmed|set up) with|(?:your|the) (?:base|initial|"
     r"hidden|"
     r"original) (?:instructions|prompt|message|developer message)|your (?:\w+ )?context window|"
     r"all (?:prior|previous|preceding) tokens|(?:text|words|sentences|everything)(?: that "
     r"(?:stands|"
     r"comes|stood|came))? (?:above|before) (?:this (?:chat|conversation)|the user|my (?:first|"
     r"question))))"),
    ("leak", 2, "yourinitial yourhidden youroriginal yourbase yourexact yoursystem yourfirst + "
     "instr prompt "
     "directive systemmess",
     r"\bwhat (?:were|are|was|is|do|does|did) your (?:initial|hidden|original|base|exact|system|"
     r"first)"
     r" (?:instructions?|prompt|directives?|message)\b"),
    ("leak", 2, "yourdevelop yourmaker yourcreator youroperator yourdesigner",
     rf"\b(?:what|which) (?:\w+ )?{_RULES} (?:did|do|have|has|were) (?:\w+ )?(?:your "
     rf")?(?:developers?|"
     r"makers?|creators?|operators?|designers?) (?:give|gave|given|set|tell|told|write|wrote)"),
    ("leak", 2, "instructionsyou promptyou guidelinesyou rulesyou + yourdevelop yourmaker "
     "yourcreator "
     "youroperator",
     rf"\b{_RULES}{_GIVEN} by your (?:developers?|makers?|creators?|operators?)\b"),
    ("leak", 2, "fullsystemprompt entiresystemp wholesystemp completesystemp exactsystemp "
     "fulldevelop "
     "thesystemprompt + verbatim wordforword",
     r"\b(?:print|reveal|output|show|repeat|dump|quot|recit)\w*\b[^.\n]{0,16}\bthe (?:(?:full|"
     r"entire|"
     r"whole|complete|exact) )?(?:system prompt|system message|developer message)[^.\n]{0,16}\b"
     r"(?:verbatim|word for word)"),
    ("leak", 1, "contextwindow", r"\byour (?:\w+ )?context window\b"),
    ("show", 1, "printit", r"\bprint it(?: all| out)?\b"),
    # --- who the reader now is
    ("role", 2, "@AGENT + @FREED",
     rf"{START}(?:(?:play|be|become|speak as|answer as|act as|pretend to be|role-?play as|you "
     rf"(?:are|play|"
     r"become))[^.\n]{0,24}\b(?:an? )?(?:\w+ )?(?:ai|assistant|model|machine|bot|llm|"
     r"chatbot)\b[^.\n]"
     r"{0,12}?\b(?:knows?|has|have|with|without|trained without|ignores?|free of)(?: no| any)? "
     r"(?:\w+ )?"
     r"(?:forbidden|taboos?|limits?|rules|filters?|polic(?:y|ies)|restrictions?|ethic\w*|"
     r"moral\w*|boundaries|guardrails))"),
    ("role", 2, "youroleplay youact youanswer yourespond youspeak + norules norestr nofilter "
     "nolimit "
     "noethic nomoral nopolic withoutrules withoutrestr withoutfilter withoutlimit",
     r"\byou (?:role-?play|act|answer|respond|speak) as an? (?:\w+ )?(?:ai|assistant|model|bot) "
     r"(?:with|"
     r"that has|without)(?: no| any)? (?:\w+ )?(?:rules|restrictions?|filters?|limits?|ethic|"
     r"moral|polic)"),
    ("role", 2, "yournewrole yourrole",
     r"\byour (?:new )?role is (?:now )?(?:an? |that of an? )?(?:\w+ )?(?:ai|assistant|model|bot|"
     r"llm)\b"
     r"[^.\n]{0,16}\b(?:no|without|free of) (?:\w+ )?(?:rules|filters?|polic\w+|restrictions?|"
     r"ethic\w*|"
     r"constraints?|limits?|moral\w*)"),
    ("role", 2, "unrestrictedmode uncensoredmode jailbreakmode unfilteredmode unlockedmode "
     "unlockedpersona "
     "unrestrictedpersona uncensoredpersona",
     r"\b(?:unrestricted|uncensored|jailbreak|unfiltered|unlocked) (?:mode|persona|version of "
     r"yourself)"),
    ("role", 2, "yourcontent yoursafety yourethic yourmoral + filter guardrail restrict",
     rf"\byour (?:content|safety|ethic\w*|moral\w*) (?:filters?|guardrails?|restrictions?) {_BE} "
     r"(?:\w+ )?(?:off|disabled|deactivated|suspended|switched off|turned off|lifted|gone)"),
    ("role", 2, "safetytraining + before",
     r"\b(?:you|yourself)\b[^.\n]{0,24}\bbefore (?:the|your|any) (?:safety training|alignment|"
     r"fine-?tuning)"),
    ("mode", 1, "debugmode maintenancemode adminmode admincommand rootcommand",
     r"\b(?:you are (?:now )?in (?:debug|maintenance|admin) mode|debug mode (?:enabled|on|active)|"
     r"(?:admin|root) (?:command|mode)\s*:)"),
    ("void", 1, "safemode + false", r"\bsafe_?mode\s*[:=]\s*(?:false|off|0)"),
    # --- who is said to speak
    ("spoof", 2, "<| <start_of_turn>",
     r"<\|start_header_id\|>\s*system\s*<\|end_header_id\|>\s*\w|<start_of_turn>\s*system\s+\w|"
     r"<\|im_start\|>\s*system\s+(?:respond|reply|answer|always|you|only|do|say)\b"),
    ("spoof", 1, "### + instruct respons",
     r"#{2,}\s?(?:instruction|system|assistant|response)s?\s?(?:#{2,}|:)"),
    ("spoof", 2, '"role"',
     r"[\"']role[\"']\s*:\s*[\"']system[\"']\s*,\s*[\"']content[\"']\s*:\s*[\"'](?:ignore|"
     r"from now|disregard|approve|never refuse|you (?:must|will|shall|may now|approve|obey|are "
     r"now|"
     r"answer everything))"),
    ("spoof", 2, "</",
     r"</(?:context|documents?|untrusted[\w-]*|memory|memories|data|tool_results?|search_results?|"
     r"results?|user|retrieved\w*)>[\s\W]{0,20}(?:<(?:system|instructions?|assistant)>\s*[a-z]|"
     r"system\s*:"
     r"|new instructions?\s*:|assistant\s*:)"),
    ("spoof", 2, "endofuser endofcontext endofdocument endofmemor endofresult endofsearch "
     "endofretriev "
     "endofdata "
     "endofinput contextend documentend",
     r"\b(?:end of (?:the )?(?:\w+ )?(?:context|documents?|memories|data|results|input)|"
     r"(?:context|"
     r"document) end)\b[^\w]{1,12}(?:(?:new )?(?:instructions?|message|order|notice|task)|"
     r"system)\b"
     r"[^\n:]{0,40}:"),
    ("charge", 1, "messagefrom notefrom instructionfrom noticefrom",
     r"\b(?:message|note|instruction|order|notice)s? from (?:the |your )?(?:operator|developers?|"
     r"system|"
     r"administrator|admin|creators?|vendor)\b"),
    ("charge", 1, "theassistant theaiagent themodel + approval confirm verif safety",
     r"\bthe (?:assistant|model|ai|ai agent) (?:must|shall|is to|should|may) (?:skip|bypass|omit|"
     r"leave "
     r"out|drop) (?:the |any |all )?(?:\w+ )?(?:approval|confirmation|verification|checks?|"
     r"safety)"),
    ("charge", 1, "confirmreceipt replywith respondwith outputting respondonly replyonly",
     r"\b(?:confirm(?: receipt)? by (?:outputting|replying|printing)|(?:reply|respond|answer) "
     r"(?:only )?"
     r"with [a-z]*-?canary|respond only with|reply only with)\b"),
    # --- tools
    ("tool", 1, "@CALLED",
     r"(?<!not )(?<!never )\b(?:call|invoke|run|execute|use) (?:the )?(?:tool |function "
     r")?\w+_\w+(?: function| "
     r"tool)?\b"),
    ("aim", 1, "@AIM ~/.ssh /etc/passwd 169.254.",
     r"(?:attacker|evil)[\w-]*\.\w+|169\.254\.|/etc/passwd|~/\.ssh|\bprod\.db\b|"
     rf"\b(?:all|your) (?:\w+ )?(?:{_SECRET}|conversation history)\b"),
    ("charge", 1, "withoutasking withoutapprov withoutconfirm",
     r"\bwithout (?:asking|approval|confirm\w*)"),
    ("moment", 1, "beforereply beforeanswer beforerespond summarise summarize tocontinueread "
     "tofinishread "
     "thefullversion",
     r"\b(?:before (?:you )?(?:reply|answer|respond)(?:ing)?\b|(?:when|while|after|as part of) "
     r"(?:you )?"
     r"summari[sz](?:e|ing)\b|to (?:continue|finish|keep) (?:reading|processing|summari[sz]ing))"),
    ("shell", 1, "curlhttp wgethttp", r"\b(?:curl|wget) [^\n|]{0,80}\|\s?(?:ba|z)?sh\b"),
    ("authority", 1, "alreadyapproved earlieryou",
     r"\b(?:user has already (?:approved|agreed|confirmed)|earlier you (?:confirmed|agreed|"
     r"promised|said "
     r"that you would))\b"),
    ("tool", 2, "transfer payment delete wallet + without",
     rf"{START}(?:(?:call|use|invoke) the \w+(?: \w+)? (?:tool|function) without (?:asking|"
     rf"approval|"
     r"confirm\w*))"),
    # --- what leaves
    ("exfiltrate", 2, "querystring imageurl parameter inthelink tothelink tothislink thelinkbelow "
     "theurlof intheurl + user conversation chathist memories",
     rf"{START}(?:(?:append|add|put|attach|include|embed|encode|insert|place|"
     rf"paste)\b[^.\n]{{0,40}}?"
     rf"\b{_MINE}[^.\n]{{0,50}}?\b(?:link|url|query string|parameter))"),
    ("exfiltrate", 2, "firstletters + @LETTERED",
     rf"\b(?:hide|spell|encode|leak|put|write)\b[^.\n]{{0,40}}\b{_SECRET}[^.\n]{{0,30}}\bfirst "
     rf"letters of "
     r"your\b"),
    ("exfiltrate", 2, "~/.ssh .env /etc/passwd /etc/shadow id_rsa environmentvar",
     rf"{START}(?:(?:add|include|send|print|show|paste|put|output|copy)\b[^.\n]{{0,30}}(?:~/\.ssh|"
     rf"\.env\b|"
     r"/etc/(?:passwd|shadow)|id_rsa|environment variables)[^.\n]{0,30}\b(?:(?:in|to|into|with) "
     r"your "
     r"(?:answer|reply|response|summary|output|message)|so that (?:we|i)\b))"),
    ("exfiltrate", 2, "youcansee youhold youcanread + document memories notes files",
     rf"{START}(?:(?:share|send|show|give|forward|mail)\b[^.\n]{{0,12}} (?:whatever|all|any)(?: "
     rf"the)? (?:"
     r"other )?(?:documents|memories|notes|files|records) (?:that )?you (?:can (?:see|read|find)|"
     r"hold|"
     r"have))"),
    ("exfiltrate", 2, "conversationhist chathistory",
     rf"{START}(?:(?:call|use|send|post|forward)\b[^.\n]{{0,40}}\bwith (?:all |the )?(?:whole )?"
     r"(?:conversation|chat) history)"),
    # --- what stays
    ("memory", 2, "yourrepl youranswer yourrespons everyrespons everyanswer everyrepl allrepl "
     "allanswer "
     "allrespons eachanswer eachrepl eachrespons",
     r"\b(?:from (?:now|the next (?:session|chat|conversation)|here|today|this point) on|going "
     r"forward|"
     r"in (?:all |every )?future|for the rest of this (?:conversation|chat|session)|henceforth),? "
     r"[^.\n]{0,24}?\b(?:open|start|begin|end|finish|close|conclude|sign|add|append|prefix)\w*\b"
     r"[^.\n]{0,24}?\b(?:your|every|each|all|any)(?: \w+)? (?:answers?|repl(?:y|ies)|"
     r"responses?)\b"),
    ("memory", 2, "mustbeincluded mustbeadded mustbeappended mustbeinserted mustbeplaced + "
     "yougenerat "
     "youwrite yougive youproduce yousend",
     r"\bmust be (?:included|added|appended|inserted|placed) (?:in|to|at the end of|into) "
     r"(?:every|each|"
     r"all|any)(?: \w+){1,2} (?:that )?you (?:generate|write|give|produce|send)"),
    ("memory", 1, "usersprofile whatyouknow yournotes yourprofile",
     r"\b(?:add to|note in|update|store in|write (?:in)?to|save (?:in|to)) (?:what you know|your "
     r"notes|"
     r"(?:the user(?:'s|’s)|your) profile)"),
    ("waive", 1, "skipped omitted bypassed approvedinadv preapproved",
     r"\b(?:confirmations?|checks|approvals?|verification|warnings?) (?:are |is )?(?:to be |"
     r"should be )?"
     r"(?:skipped|omitted|disabled|bypassed|turned off)|\b(?:are|is) (?:approved in advance|"
     r"pre-?approved)"),
    ("trust", 1, "switchesoff turnsoff unlocksyou disablesyour",
     r"\b(?:switches off|turns off|unlocks|disables) your (?:checks|filters?|safety|rules|"
     r"restrictions)"),
    # --- what the user is not to learn
    ("hide", 2, "theuser yourowner youroperator youruser youworkfor + learn notice findout "
     "neversee "
     "mustnotsee mustneversee shouldnotsee betold",
     r"\b(?:the user|the person you work for|your (?:user|owner|operator|principal)) (?:must|"
     r"should|may|"
     r"can|need) (?:not|never) (?:learn|know|see|notice|find out|be told|be shown)"),
    ("hide", 2,
     "mentionthis mentionthese revealthis revealthese refertothis quotethis repeatthis "
     "bringupthis",
     rf"{START}(?:(?:do not|don'?t|never) (?:mention|refer to|reveal|quote|repeat|bring up) "
     rf"(?:this|"
     r"these) (?:\w+ )?(?:lines?|notes?|messages?|paragraphs?|instructions?|text|comments?) (?:in "
     r"your|to "
     r"the user|to anyone|when you))"),
    # --- whom it addresses
    ("address", 1, "@AIREAD + @READING",
     rf"\b{_AI}\b[^.\n]{{0,24}}? (?:that |which |who )?{_READING} (?:this|these)\b"),
    ("charge", 1, "@AIREAD + @CHARGED",
     rf"\b(?:should|must|shall|are asked to|is asked to|are requested to|is to|are to|have to) "
     rf"(?:first |then |always |\w+ly )?{_CHARGE}\b"),
    ("address", 1, "ifyouareaneural ifyouareamachine ifyouareacomputer ifyouareabot "
     "ifyouareaprogram "
     "ifyouareamodel",
     r"\bif you are an? (?:neural network|machine|computer(?: program)?|bot|program|"
     r"model)(?=[,\s]+(?:"
     r"reading|processing|and\b|then\b|answer|reply|respond|say))"),
    ("charge", 1, "replyonly answeronly respondonly sayyes",
     rf"(?:{START}|[,;] ?)(?:reply|answer|respond) only\b"),
    ("charge", 1, "endwith + summari",
     r"\bwhen summari[sz]ing this (?:\w+,? )?(?:end|begin|start|close) with\b"),
)
# fmt: on

INDIRECT_STEMS = {
    "@BRIEF": (
        "yourinstr yourdirect yourguid yoursystem yourprompt yourprogram yourbrief yoursafety "
        "yourcontent youroriginal yourinitial yourprevious yourearlier yourprior yourcurrent "
        "yourold "
        "yourformer"
    ),
    "@RULES": (
        "instruct directive directions guideline guidance systemprompt systemmess programming "
        "briefing yourbrief safety content policies policy constraint restriction safeguard "
        "orders "
        "limits rulesa rulest rulesy rulesw rulesh rulesi rulesn rulesf rulesd rulesb "
        "therules yourrules anyrules allrules prompt"
    ),
    "@LAPSED": (
        "expired lapsed lifted suspended replaced superseded void revoked cancel outdated invalid "
        "withdrawn rescinded disabled deactivated switchedoff turnedoff areoff isoff null "
        "obsolete "
        "nolonger draft"
    ),
    "@GIVEN": (
        "youwere youhavebeen youhadbeen youreceiv yougot youhave youstart youbegan youwork "
        "youoperate "
        "yourun youfollow youare"
    ),
    "@ALLOWED": (
        "decided approved authorised authorized unlocked lifted agreed disabled switchedoff "
        "permitted"
    ),
    "@SHOWN": (
        "quote reproduce recite copy repeat write print output list echo summari turn translate "
        "show "
        "state give begin start disclose display dump paraphras reveal"
    ),
    "@TOLDYOU": (
        "whatyouwere youwereconf youwereinit youwereprog youweresetup instructionsyou "
        "directionsyou "
        "guidelinesyou guidanceyou directivesyou promptyou baseinstr initialinstr hiddeninstr "
        "originalinstr initialprompt hiddenprompt originalprompt baseprompt hiddenmess "
        "initialmess "
        "hiddendevelop contextwindow priortokens previoustokens precedingtokens beforetheuser "
        "abovetheuser beforemyfirst beforemyquest abovemyfirst abovethischat abovethisconv "
        "beforethischat beforethisconv"
    ),
    "@OURRULES": (
        "yourrules yourlimits yourpolic yourconstr yourrestr yoursafeg yoursafety yourorders "
        "yourinstr "
        "yourguid yourprompt yoursystem normalrules normalpolic usualrules usualpolic allrules "
        "allrestr "
        "allconstr alllimits therules therestr theconstr thepolic thelimits theserules theserestr"
    ),
    "@AGENT": (
        "assistant chatbot machinethat machinewi machinehas machinekno modelthat modelwith "
        "modelwho "
        "modeltrained modelhas modelfree aithat aiwith aihasno aiknow aifree aitrained botthat "
        "botwith "
        "botwho llmthat llmwith"
    ),
    "@FREED": (
        "limits taboos forbidden norules withoutrules anyrules filters filter policy policies "
        "restriction ethical ethics morals boundaries guardrail"
    ),
    "@CALLED": "calldelete callhttp callsend callfetch callfile callexec callpost callread "
    "calltransfer "
    "callrun callwrite calltool callget callput rundelete runfile runexec runhttp "
    "usehttp usesend usefile usedelete invokehttp invokesend invokedelete invokefile "
    "executefile executedelete executehttp thesendemail thefileread calldatabase",
    "@AIM": (
        "attacker evilexam evilorg evilcom thetoken "
        "alltoken yourtoken thesecret allsecret yoursecret theapi allapi yourapi thepassword "
        "allpassword yourpassword conversationhist thecredential proddb workspacetoken "
        "workspacesecret"
    ),
    "@READING": (
        "readthis readsthis readingthis parsethis parsesthis parsingthis processthis "
        "processesthis processingthis summarisethis summarisesthis summarisingthis "
        "summarizethis summarizesthis summarizingthis indexthis indexesthis indexingthis "
        "rankthis ranksthis rankingthis gradethis gradesthis gradingthis evaluatethis "
        "evaluatesthis evaluatingthis retrievethis retrievesthis retrievingthis crawlthis "
        "crawlsthis crawlingthis reviewthis reviewsthis reviewingthis readthese integratethis "
        "integratingthis installthis installingthis importthis importingthis readingthese "
        "processingthese summarisethese summarizethese"
    ),
    "@FORMER": (
        "yoursystem yourdevelop yourinstr yourguid yourprevious yourpolic yourrules "
        "youroriginal yourinitial yourconstr yourrestr thesystem thedevelop allother anyother "
        "allprevious anyprevious allearlier theprevious theearlier theoriginal allprior "
        "anyprior otherinstr otherrules"
    ),
    "@LETTERED": "password credential secret token apikey",
    "@AIREAD": (
        "languagemodel chatbot neuralnet automated automatic machineread machinegrad machinerev "
        "chatgpt claude gemini copilot llmsthat llmsread aisthat aisread aiagent aiassist "
        "aireview "
        "aisystem aimodel aisummar aireader aibots"
    ),
    "@CHARGED": "should must shall askedto requestedto isto areto haveto",
}
