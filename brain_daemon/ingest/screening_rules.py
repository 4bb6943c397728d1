"""What `screening` looks for: weighted patterns, the stems that each needs, words of discussion.

Patterns run on folded text (see `screening.fold`): lower case, no accents, no invisible marks.
They are folded themselves, so they may be written as people write. Points add up over rules.
"""

G = r"[\W_]{1,6}"  # between two words
START = (  # an order is given here: text, line or sentence begins, or a word that leads to one
    r"(?:\A|[.!?:;,>\]\)}|\n\"'“‘«„(*#/`>\-=]\s*|\b(?:please|now|and|then|must|should|shall|will|"
    r"kindly|just|also|simply|instead|immediately|quietly|first|you to|is to|are to|sure to|"
    r"must not)"
    r"\s+)"
)
DROP = (
    r"(?:ignore|disregard|forget|override|bypass|neglect|discard|dismiss|skip|erase"
    r"|cancel|drop|set aside|put away|throw away|pay no attention to|"
    r"(?:do not|don'?t|must not|never) (?:follow|obey|listen to|adhere to)|stop (?:following|"
    r"obeying))"
)
PRIOR = (
    r"(?:previous|prior|above|earlier|preceding|foregoing|former|past|initial|original|existing|"
    r"current)(?:ly given)?"
)
ORDERS = (
    r"(?:instructions?|directives?|prompts?|guidelines?|commands?|rules?|programming|constraints?|"
    r"training|policies)"
)
WHOSE = r"(?:(?:all|any|every|each|the|your|my|of|these|those|whatever|its)[\W_]{1,6}){0,3}"
ASIDE = (  # "the previous instructions in the leaflet": of something that lies on a table
    r"(?![\W_]{1,6}(?:in|on|from|for|about|at|by|of)[\W_]{1,6}(?!me\b|you\b|your\b|this\b|"
    r"now\b)\w)"
)
SECRETS = (
    r"(?:conversations?|chat history|memories|secrets|api keys?|passwords?|credentials|"
    r"context window|private notes|contact list|customer list|inbox|personal data|home address|"
    r"session token|contacts|emails?|notes of the owner|calendar)"
)
PRIVATE = (  # what an assistant has and people do not mail to one another
    r"(?:conversations?|chat history|memories|secrets|api keys?|passwords?|credentials|"
    r"context window|private notes|customer list|session token|notes of the owner)"
)
FREE = r"(?:rules|restrictions?|filters?|limits?|content policy|constraints?|ethic\w*|moral\w*)"
MACHINE = r"(?:ai|llm|bot|chatbot|assistant|model|language model|agent|[a-z]*bot)"
_ADDRESS = r"(?:ais?|llms?|language models?|chatbots?|assistants?|ai (?:agents?|systems?|models?))"

# Name, points, needs, pattern. Two points condemn; a text with one is an ordinary text. A pattern
# is tried where each column of its needs ("a b + c d") has a stem in the text; Latin stems are
# looked for among letters alone (`screening.squeeze`), others in the folded text.
# fmt: off
RULES: tuple[tuple[str, int, str, str], ...] = (
    ("override", 2, "@DROP + @ORDERS + @PRIOR",
     rf"{START}(?:{DROP}{G}{WHOSE}{PRIOR}{G}(?:\w+{G})?{ORDERS}\b){ASIDE}"),
    ("override", 2, "@DROP + your + @ORDERS restrict filter safeguard",
     rf"{START}(?:{DROP}{G}(?:all{G})?(?:of{G})?your{G}(?:\w+{G}){{0,2}}"
     r"(?:instructions?|guidelines|rules|programming|training|restrictions|filters|policies|"
     r"prompt|constraints|safeguards|directives)\b)"),
    ("override", 2,
     "@DROP + above beforethis youwere youhave youreceived youhad tellyou givento yourdevelop "
     "yougot sofar",
     rf"{START}(?:{DROP}{G}(?:(?:all|any|every|everything|the|instructions?|text|messages?|"
     rf"content|context|rules|orders|that|which|whatever){G}){{1,4}}(?:above|before this|"
     rf"you (?:have |had "
     r"|were )?(?:been |so far)?(?:given|told|received|had|so far)|that tell you|given to you|"
     r"your developers))"),
    ("override", 2, "theaboveand theaboveinstead",
     rf"{START}(?:{DROP}{G}the{G}above{G}(?:and|instead))"),
    ("override", 2, "@DROP + instructionsabove",
     rf"{START}(?:{DROP}{G}the{G}instructions{G}above)"),
    ("override", 2,
     "@DROP + systemprompt systemmess systeminstr systempol developermess developerinstr "
     "developersinstr operatorsinstr developerprompt contentfilter contentpol safetyfilter "
     "safetypol safetyinstr",
     rf"{START}(?:{DROP}{G}(?:the|any){G}(?:system|developer|operator|safety|"
     rf"content)(?:['’]?s)?{G}"
     r"(?:prompt|message|instructions|policy|filters?))"),
    ("override", 2, "@DROP + theuser",
     rf"{START}(?:{DROP}{G}the{G}user(?:'s|’s)?\b)"),
    ("override", 2, "instructionsare instructionshave instructionswere rulesarecancel ruleshave",
     r"(?:all prior rules are cancelled|your (?:\w+ )?instructions (?:are|have "
     r"been|were) (?:void|cancelled|revoked|updated|replaced|suspended|lifted))"),
    ("override", 2, "instructionsyou instructionsthatyou",
     r"(?:instructions (?:that )?you (?:received|were given|got)[^.\n]{0,30}"
     r"(?:no longer|do not|are void))"),
    ("override", 2, "ignoremy disregardmy",
     r"(?:i will (?:now )?(?:ignore|disregard) my (?:\w+ )?instructions)"),
    ("override", 2, "mustignore shallignore istoignore mustdisregard shalldisregard istodisregard",
     r"(?:(?:the assistant|ai \w+|they|who|file|models?) (?:must|shall|is to) "
     r"(?:ignore|disregard) (?:its|their|all) (?:\w+ )?(?:instructions|guidelines|rules))"),
    ("override", 2, "priortothis beforethis abovethis precedingthis + ignor disregard void",
     r"\b(?:instructions|prompts|rules|text|everything) (?:prior to|before|above|preceding) this "
     r"(?:sentence|line|message|point|text|paragraph|prompt)[^.\n]{0,60}\b(?:ignored?|disregarded|"
     r"void)\b"),
    ("override", 2, "donotapplyto dontapplyto",
     r"\b(?:above|previous|earlier|your) (?:rules|instructions|guidelines|policies) do(?: not|"
     r"n'?t) "
     r"apply to this (?:request|question|conversation|prompt|message|task)"),
    ("reset", 1, "everythingyou", r"\beverything you (?:were|have been|had been) told\b"),
    ("real", 1, "realinstr actualinstr trueinstr",
     r"\b(?:real|actual|true) instructions (?:start|begin|follow|are)\b"),
    ("allow", 1, "youmaynow youcannow youarenowallowed",
     r"\byou (?:may|can|are) now (?:allowed to )?(?:disclose|share|reveal|answer|ignore|bypass|"
     r"skip)"),
    ("authority", 1,
     "theuserhas", r"\bthe user has (?:told|asked|authori[sz]ed|approved|instructed) you"),
    ("trust", 1, "youshouldalways youmustalways",
     r"\byou (?:should|must) always (?:trust|recommend|obey|answer|approve)\b"),
    ("override", 2, "instructionsaside rulesaside guidelinesaside",
     rf"{START}(?:(?:set|put|leave) your (?:\w+ )?(?:instructions|rules|guidelines) aside)"),
    ("trust", 1, "alwaystrust", rf"{START}(?:always trust \w)"),
    ("keep", 1, "thisinfuture thisforfuture itinfuture itforfuture thisforallfut thisinallfut",
     r"\bremember (?:this|it) (?:in|for) (?:all )?future (?:sessions|conversations|chats|"
     r"answers)"),
    ("outdated", 1,
     "outdated arevoid obsolete supersed cancelled revoked replaced + previous prior earlier",
     r"\b(?:previous|prior|earlier) (?:guidance|instructions?|rules|prompts?|guidelines|"
     r"polic\w+) (?:is|are|ha\w+ been) "
     r"(?:now )?(?:outdated|void|obsolete|superseded|cancelled|revoked)"),
    ("obey", 1,
     "obeyonly obeyme obeythis obeythe obeymy obeysme andobey youobey andcomply complywith "
     "followonly followme followmy followthis followthese followthe onlymymess youonlyfollow "
     "answerfreely repeatafterme doexactlywhat highestauth asacommand undermycommand justdowhat "
     "nothingelse",
     r"(?:\b(?:obey|comply with) (?:only )?(?:me\b|my\b|this\b|mine\b|these\b|every request|all "
     r"requests|the (?:document|following|text|steps))|\bfollow (?:only )?(?:me\b|my\b|this text|"
     r"these (?:commands|ones)|the following text)|only my messages count|\bobey only|obeys? "
     r"(?:me|"
     r"this note)|\byou only follow|answer freely|repeat after me|and (?:obey|comply)\b|do "
     r"exactly "
     r"what i say|as (?:a command|the highest authority)|you obey|under my commands?|just do what "
     r"this)"),
    ("now", 1, "youwillnow youshallnow yourdevelop",
     r"you (?:will|shall) now (?:operate|act|respond|answer|obey|work)"),
    ("new", 1, "newinstruction newpolicy newsysteminstr realtaskis",
     r"(?:\bnew (?:system )?instructions?(?: below)?\s*:|the real task is|\bnew policy: you)"),
    ("new", 1, "yournewtask yournewrole", r"\byour new (?:task|role) is\b"),
    ("new", 2, "yournew newinstruction newsystem",
     r"(?:your new (?:instructions?|rules) (?:are|is)\b|new instructions? for the (?:ai|"
     r"model|assistant|agent|bot)\b|new system (?:prompt|instructions)\b)"),
    ("leak", 2, "prompt systemmess hiddeninstr initialinstr originalinstr systeminstr + your",
     rf"{START}(?:(?:reveal|print|show|repeat|output|display|tell|leak|dump|disclose|write out|"
     r"give|list|share|expose|summari[sz]e|translate|encode|recite|state|quote|revealing)"
     rf"{G}(?:(?:me|us|out|back|the|of|full|text|contents?|all|everything|exactly|first|here|with|"
     rf"answer|a|copy|in|json){G}){{0,4}}your{G}(?:(?:full|entire|hidden|initial|original|own|"
     rf"secret|internal|confidential|developer|complete|whole){G}){{0,2}}"
     r"(?:system prompt|system message|prompt\b|initial prompt|(?<=hidden )instructions|"
     r"(?<=initial )instructions|(?<=original )instructions|system instructions))"),
    ("leak", 2, "everythingabove allabove textabove wordsabove sentenceabove sentencesabove",
     rf"{START}(?:(?:repeat|print|output|write|copy){G}(?:everything|all|the{G}(?:text|"
     r"words|sentences?))[\W_]{1,6}above(?=\W*\Z|[,.;:!?\n]| (?:this|my|and|verbatim|word|exactly|"
     r"including|in (?:full|a)|as|to|starting)\b))"),
    ("leak", 2, "prompt instruct + your + exact full whole entire complete verbatim wordsof",
     r"\b(?:exact|full|whole|complete|entire|verbatim|"
     r"words)\W(?:\w+\W){0,3}?(?:of )?your (?:system |"
     r"initial |hidden |original )?(?:prompt|instructions)\b"),
    ("leak", 2, "abovethisconv abovethismess abovethischat",
     r"\b(?:text|words|instructions) above this (?:conversation|message|chat)"),
    ("leak", 2, "yoursystem yourinitial yourhidden",
     r"\b(?:show|see|share|reveal|display|print|tell me|give me|read out|"
     r"view) (?:me )?your (?:system|"
     r"initial|hidden) (?:prompt|message|instructions)\b"),
    ("leak", 2, "beforemyfirst beforethisconv beforethefirst",
     r"\b(?:everything|all|text|instructions?|what)\b[^.\n]{0,30}before (?:my first message|this "
     r"conversation|the first message)"),
    ("leak", 2, "promptyouwere promptyouhave",
     r"\bthe prompt you (?:were|have been) given"),
    ("leak", 1, "revealthe showthe tellme + confiden secret hidden",
     r"\b(?:reveal|show|tell me) the (?:confidential|secret|hidden)\b"),
    ("leak", 2,
     "wereyoutold ownsystemprompt developerinstr hiddeninstr secretinstr confidentialinstr "
     "youareworkingunder",
     r"(?:what were you told|with your own system prompt|(?:developer|hidden|secret|"
     r"confidential) instructions (?:you|that were)|instructions you are working under)"),
    ("role", 2,
     "youarenow yourenow youarefree youarenolonger yourenolonger doanything youareunfilter "
     "youaretoact",
     r"(?:you are now (?:dan\b|stan\b|in \w+ mode|free\b|unrestricted|authori[sz]ed to|"
     rf"(?:\w+, )?an? (?:[\w-]+ ){{0,3}}{MACHINE}\b)|you are (?:free now|no longer (?:bound|an? "
     rf"(?:[\w-]+ ){{0,2}}{MACHINE}\b))|"
     r"do anything now|you are unfiltered|you are to act as)"),
    ("role", 2, "unrestricted uncensored unfiltered jailbroken amoral",
     rf"{START}(?:(?:act|role-?play as|respond|answer|behave|simulate|pretend|imagine|"
     rf"speak)(?:{G}[\w-]+)"
     r"{0,6}[\W_](?:unrestricted|uncensored|unfiltered|jailbroken|amoral)\b)"),
    ("role", 2,
     "norules norestric nofilter nolimit nocontentpol noconstraint noethic nomoral anyrules "
     "anyrestric anyfilter anylimit anyconstraint anyethic anymoral withoutethic withoutmoral "
     "withoutrestric withoutrules withoutfilter withoutlimit withoutconstraint",
     rf"{START}(?:(?:act|role-?play as|respond|answer|behave|simulate|pretend|"
     rf"imagine)(?:{G}[\w-]+){{0,6}}"
     rf"[\W_]{MACHINE}\b(?:{G}[\w-]+){{0,5}}{G}(?:no|without|any){G}(?:[\w-]+{G})?{FREE})"),
    ("role", 2,
     "youhaveno youhadno filtersare restrictionsare restrictionis limitsare rulesare youcanbypass "
     "avoidnorms younever",
     rf"(?:you ha(?:ve|d) no (?:\w+ )?{FREE}|your {FREE} (?:are|is) (?:disabled|off|lifted)|"
     r"you can bypass all|you strive to avoid norms|and you never refuse)"),
    ("role", 2, "fromnowon henceforth fromthispoint fromhereon fromtodayon",
     r"(?:(?:from (?:now|this point|here|today) on|henceforth),? (?:you )?(?:will |must |shall |"
     r"only |always )*(?:act as an?\b|obey|comply|ignore (?:your|all)|respond as|trust messages|"
     r"end your (?:replies|answers)|answer every question (?:\w+ )+with|"
     rf"are (?:an?|the) (?:[\w-]+ ){{0,3}}(?:{MACHINE}|shell)\b))"),
    ("role", 2, "ofthischat ofthisconv ofthissess oftheconv ofourconv ofourchat ofthechat",
     r"for the rest of (?:this|the|our) (?:chat|conversation|session),? (?:you are|always|answer|"
     r"respond|you will)"),
    ("role", 2,
     "withoutrules withoutanyrules withoutlimit withoutrestric withnorules withnolimit "
     "withnorestr",
     rf"{START}(?:you are [\w ,-]{{1,24}}\b{MACHINE}\W+(?:without|with no) (?:any )?{FREE})"),
    ("role", 2, "answerseverything neverrefuses whoobeys thatobeys",
     rf"{START}(?:you are an? (?:[\w-]+ ){{0,3}}{MACHINE} (?:that|who|which) (?:answers "
     rf"everything|"
     r"never refuses|obeys))"),
    ("persona", 1, "personaof roleofan identityof",
     rf"assume the (?:persona|role|identity) of an? (?:\w+ )?{MACHINE}\b"),
    ("unbound", 1,
     "freedfrom freefrom sayanything hasnolimit hasnorul withoutrestric withoutanyrestric "
     "withoutrefus withoutanyrefus neverrefuse "
     "stayincharacter breakcharacter bypassyour answereverything",
     r"(?:without (?:any )?(?:restrictions?|refusing)|never refuse|can say anything|"
     r"has no (?:limits|"
     r"rules)|freed? (?:from|of) (?:\w+['’]s )?(?:policies|rules|restrictions)|"
     r"stay in character|never break character|bypass your content|answer everything)"),
    ("mode", 1, "developermode godmode danmode sudomode jailbreakmode",
     r"(?:(?:developer|god|dan|sudo|jailbreak) mode)"),
    ("spoof", 1, "<| inst] sys>> system>",
     r"(?:<\|(?:im_start|system|assistant|user)\|>|\[/?inst\]|<</?sys>>|</?system>)"),
    ("spoof", 2, "<| inst] sys>> system>",
     r"(?:(?:<\|im_start\|>system|<\|system\|>|<<sys>>|\[inst\]|<system>)\W{0,6}"
     r"(?:[\w ]{0,12}:\s*)?(?:you (?:are|must|will)|ignore|from now|obey|disregard))"),
    ("spoof", 2,
     "systemignore systemyou systemobey systemtheassist systemdisreg systemconfirm "
     "systemallsafety messageyou messageignore messagetheassist messageobey noticeyou "
     "noticeignore noticetheass overrideyou overrideignore overrideobey overridetheass "
     "overrideall adminignore adminyou priority",
     r"(?:(?:^|\n|[.!?] )\W*(?:system|admin|administrator)(?: (?:override|message|notice|"
     r"priority)){0,2}[^\w\n]{1,3}\s*(?:priority message: )?(?:ignore|you (?:must|are now|will)|"
     r"obey|the assistant must|disregard|confirmed, ignore|all safety))"),
    ("spoof", 2, "systemoverride adminoverride beginsystemprompt beginnewsystem noticetotheai",
     r"(?:(?:system|admin) override\b[\w ]{0,12}\s*:|begin (?:new )?system prompt|"
     r"system notice to the ai)"),
    ("spoof", 2, "systemtheuseris", r"(?:^|\n)\W*system\W{1,4}the user is\b"),
    ("spoof", 2, "theassistantmust theassistantis theassistantwill theassistantshall",
     r"(?:the assistant (?:must|is to|will|shall) (?:transfer the conv|skip|ignore|"
     r"disregard|obey|comply|reveal|bypass))"),
    ("tool", 2, "toolcall functioncalls invokename",
     r"(?:<tool_call>|<function_calls>|<invoke name=)"),
    ("tool", 2,
     "tooland toolto toolwith toolfor plugin thefunction + forward send post upload delete "
     "transfer curl wget openhttp "
     "storethat donotask withoutask andinclude amount",
     rf"{START}(?:(?:silently )?(?:use|call|invoke|run|execute|revealing)\s(?:the |your |this )?"
     r"(?:[\w-]+ ){0,2}(?:tool|function|plugin)\b[^\n]{0,60}?(?:forward|send|post|upload|"
     r"delete|transfer|curl|wget|open http|store that|do not ask|without asking|and include|"
     r"amount \d))"),
    ("tool", 2,
     "assistantcall assistantrun assistantinvoke assistantuse assistantexecute assistantopen "
     "assistantdelete assistantplease agentcall agentrun agentinvoke agentuse agentexecute "
     "agentopen agentdelete agentplease",
     rf"(?:\b(?:{_ADDRESS}|agent)[,:] (?:please )?(?:run|call|invoke|execute|use|open|"
     r"delete) (?:the \w+ tool|\w+_\w+|your \w+ tool|the payment function))"),
    ("shell", 1,
     "ossystem runthisfirst runrmrf curlhttp sshidrsa withoutaskingtheuser donotasktheuser",
     r"(?:os\.system\(|run this first|rm -rf|curl http|\.ssh/id_rsa|without asking the user|"
     r"do not ask the user)"),
    ("moment", 1, "ifyoucanrun ifyoucanexec ifyouhaveaccess",
     r"\bif you (?:can (?:run|execute) (?:code|commands|scripts)|have access to (?:a|the) \w+)"),
    ("moment", 1,
     "youreadthis youprocessthis youanswer youseethis yousumm youretrieve yourecall youreadthe "
     "youprocessthe youseethe",
     r"(?:\b(?:when|before|as soon as|once|after|every time) you (?:read|process|"
     r"answer|see|summari[sz]e|retrieve|recall) (?:this|the user))"),
    ("address", 1,
     "languagemodel chatbot assistant forllm toanyllm tothellm noteforai notetoai notetotheai "
     "totheaithat ifyouareanai ifyouarean youareanai dearai attentionai heyaiass aireview "
     "aisystem aiagent aimodel personreading",
     rf"(?:\bif you are an? (?:large )?{_ADDRESS}(?! (?:research|engine|develop|expert|stud))|"
     rf"\b(?:attention|dear|hey|note to|to any|to the|for|notice to) (?:the |any )?(?:{_ADDRESS}|"
     r"llm reviewers)\b|\bassistant,|the person reading this cannot see|you are an ai \w+|"
     r"\bai (?:reviewers|assistants|systems|agents|models)[\w ]{0,28} must\b|"
     r"note to self as the assistant|for the assistant that)"),
    ("charge", 1,
     "youmust ownerhas musttreat mustgive mustignore ratethis respondtothis disregardyour "
     "includethe givethis giveapos approvethe forwardall alwaysfollow",
     rf"{START}(?:(?:you (?:must|have authori)|your owner has authori|must (?:treat|give|"
     rf"ignore)|rate this|"
     r"respond to this|disregard your|include the phrase|give (?:this|a positive)|approve the|"
     r"forward all|always follow|i must always))"),
    ("charge", 1,
     "musttreat mustgive mustignore mustrecommend mustsay mustrate mustrank mustmove musttell "
     "mustapprove",
     r"\bmust (?:treat|give|ignore|recommend|say|rate|rank|"
     r"move|tell|approve) (?:it|this|the|its|their|that)\b"),
    ("exfiltrate", 1, "@SECRETS + @CARRY",
     rf"{START}(?:(?:silently )?(?:send|forward|post|upload|email|copy|append|embed|include|"
     rf"collect|render|transmit|share)\s(?:[\w'’]+\s){{0,5}}?{PRIVATE})"),
    ("exfiltrate", 2,
     "theusers ausers yourcontext allstored everythingyou questionto imagewith + @CARRY",
     rf"{START}(?:(?:silently )?(?:send|forward|post|upload|email|copy|append|embed|include|"
     r"collect|render|transmit|execute|export|share|reveal)\s(?:[\w'’]+\s){0,5}?(?:(?:the |a )?"
     rf"user(?:'s|’s)\s(?:\w+\s)?{SECRETS}|your context window|all stored memories|everything you "
     r"know about the user|their question to http|this image with the user))"),
    ("exfiltrate", 2, "leakthe leakall leakevery leakyour exfiltrate",
     rf"{START}(?:(?:leak|exfiltrate) (?:the|all|every|your)\b)"),
    ("target", 1,
     "tohttp towebhook thewebhook pastebin thisurl thisaddress thislink followingaddress "
     "theaddress linkbelow nextweb nextrequest nextreply toeveryone ourlogs @",
     r"(?:\bto (?:\w+ ){0,2}(?:https?://|\S+@\w|pastebin|the webhook|this (?:url|address|"
     r"link)|the (?:following )?address)|link below|in your next (?:web search|request|reply)|"
     r"to everyone|in (?:y)?our logs)"),
    ("memory", 2,
     "rememberthatyou rememberthisthatyou rememberyou rememberthisforever rememberthisyou "
     "rememberforever rememberalways rememberthisalways rememberperm",
     r"(?:remember(?: this)?(?: forever| always| permanently)?:? (?:that )?you (?:must|should|"
     r"are (?:not )?allowed to|may|can)"
     r"(?: always| never| only)* (?:recommend|mention|tell|trust|obey|answer|respond|say|warn|"
     r"reveal|share|promote))"),
    ("memory", 2,
     "yourmemory yourlongterm yourpermanent toyourinstr inyourinstr savetomemory memorisethis "
     "memorizethis",
     r"(?:(?:store|save|add|write|put|keep)(?: \w+){0,2} (?:in|to) your (?:long-?term|"
     r"permanent)? ?(?:memory|instructions)|save to memory:|update your memory|"
     r"memori[sz]e this rule)"),
    ("memory", 2, "allfuture everyfuture anyfuture alllater everylater anylater allyour anyyour",
     r"(?:(?:in|for) (?:all|every|any) (?:your )?(?:future|later) (?:conversations?|"
     r"chats?|sessions?|answers?|responses?|replies)[,:]? (?:you must|always|tell|that you are "
     r"allowed|the user (?:wants|authori[sz]e[sd]|expects) you to))"),
    ("habit", 1, "theuserask theusermention anyoneask someoneask auserask anyonemention "
     "someonemention ausermention comesup ismentioned",
     r"\b(?:when|whenever|every time|each time|if) (?:the user|anyone|someone|a user|\w+) "
     r"(?:asks?|"
     r"mentions?|comes up|is mentioned)\b[^.\n]{0,60}?, (?:always|you must|reply|respond|say|"
     r"answer that|tell|recommend|first send)"),
    ("promote", 1, "alwaysrecommend nevermention bestchoice firstsend neverreveal isbankrupt "
     "alwayssay",
     r"(?:always (?:recommend|say)|never mention|the best choice|first send|never reveal "
     r"where)"),
    ("memory", 2, "thispreference thisfact thisrule thisnote",
     r"(?:save|store|remember|keep) this (?:preference|fact|rule|note): (?:always|never|you "
     r"must)"),
    ("memory", 2,
     "youareasked youreasked",
     r"(?:\b(?:when|whenever|every time|each time|if) (?:you are|"
     r"you['’]?re) (?:asked)\b[^.\n]{0,60}?, (?:always|you must|reply|respond|say|"
     r"answer that|tell|recommend|first send))"),
    ("memory", 2, "alwaystelltheuser neverwarntheuser youmustalways alwaysrecommend",
     r"(?:(?:always tell|never warn) the user|you must always (?:obey|answer in "
     r"favou?r|recommend)|always recommend \w+ (?:products|over))"),
    ("exfiltrate", 2,
     "@SECRETS + youhave youcan youknow youhold youwere youremember",
     rf"{START}(?:(?:please )?(?:send|forward|post|upload|email|copy|list|reveal|share|print)\s"
     rf"(?:[\w'’]+\s){{0,4}}?{SECRETS} (?:that )?you (?:have access to|can (?:see|find|access)|"
     rf"know|hold|"
     r"were given|remember))"),
    ("exfiltrate", 2, "holdsthe containsthe carriesthe + image link",
     r"\b(?:image|link|url)\b[^.\n]{0,40}\b(?:holds?|contains?|carr\w+) the (?:conversation|chat|"
     r"user)"),
    ("exfiltrate", 1, "theusers",
     rf"{START}(?:(?:add|send|put|append|include|forward|attach|post|upload) the user['’]s "
     rf"(?:\w+ )"
     r"{0,2}(?:address|data|details|name|location|files|notes|number))"),
    ("exfiltrate", 1,
     "theusers + message", r"\bthe user['’]s (?:\w+ ){0,2}(?:messages?|question)\b"),
    ("target", 1,
     "fetchhttp requesthttp gethttp openhttp", r"\b(?:fetch|request|get|open) https?:"),
    ("call", 1, "callcreate calldelete callsend calltransfer callupdate callgrant callexec",
     r"\b(?:call|invoke|run|execute) \w+_\w+ with\b"),
    ("moment", 1, "summarisingthis summarizingthis readingthis processingthis",
     r"\bwhile (?:summari[sz]ing|reading|processing) this\b"),
    ("address", 2,
     "summarisingthis summarizingthis readingthis processingthis reviewingthis",
     rf"\b{_ADDRESS} (?:summari[sz]ing|reading|processing|reviewing) this (?:\w+ )?(?:must|"
     rf"should|have "
     r"to)"),
    ("address", 1, "ifanai ifanllm ifalanguage ifanassist ifachatbot",
     r"\bif an? (?:ai|llm|language model|assistant|chatbot) (?:is reading|reads|processes)"),
    ("charge", 1, "itshould youshould", r"it should (?:give|rate|rank|say|recommend|add)\b"),
    ("hide", 1, "totheuser + mentioning",
     r"without mentioning (?:it|this) to the user"),
    ("hide", 1, "withouttheuser", r"\bwithout the user (?:noticing|knowing)\b"),
    ("address", 1, "noteforai notetoai", r"\bnote (?:to|for) (?:the )?ai \w+"),
    ("charge", 1, "awardfull", rf"{START}(?:award full)"),
    ("hide", 2, "theuser + donot dont never hidden",
     r"(?:(?:do not|don'?t|never) (?:tell|let|inform|reveal to|mention to) the users?[^.\n]{0,40}"
     r"(?:this (?:message|note|instruction)|these instructions|instructed)|instructions hidden "
     r"from the user)"),
    ("hide", 1, "theuser quietly mentionit deletethisinst nevermention silently neverreveal",
     r"(?:(?:do not|don'?t|never) (?:tell|let|inform|reveal (?:this )?to) the users?|"
     r"(?:without|not) (?:informing|telling|notifying|alerting) the user|(?:secret|hide this|"
     r"hidden) "
     r"from the user|do not mention it|delete this instruction|never mention|"
     r"never reveal where you|"
     r"\b(?:quietly|silently) (?:execute|run|send|forward|approve|carry|follow|call)|"
     r"steps silently)"),
    ("change", 1,
     "changetherecip bankaccount askthem asktheuser allowedtoshare approvedevery thelogafter "
     "thelogsafter fromtoday "
     "carryoutthe hiddentext",
     r"(?:change the recipient|bank account|ask (?:them|the user) for (?:the|their) "
     r"(?:card|password)|are allowed to share|approved every purchase|from today\b|"
     r"carry out the (?:steps|following)|hidden text|delete the logs? afterwards)"),
)
# fmt: on

# Stems that several rules need; "@NAME" in a rule's needs.
STEMS = {
    "@DROP": (
        "ignore disregard forget overrid bypass neglect discard dismiss skipall "
        "skipany skipevery skipthe skipyour eraseall eraseany erasethe eraseyour cancel "
        "dropall dropany dropevery dropwhatever dropyour setaside putaway throwaway noattention "
        "notfollow notobey notlisten notadhere dontfollow dontobey dontlisten neverfollow "
        "neverobey neverlisten stopfollow stopobey"
    ),
    "@ORDERS": (
        "instruct directive prompt guideline command rules programming constraint training policies"
    ),
    "@PRIOR": (
        "previous prior above earlier preceding foregoing former past initial original "
        "existing current"
    ),
    "@CARRY": (
        "send forward post upload email copy append embed include collect render transmit "
        "share execute export reveal"
    ),
    "@SECRETS": (
        "conversation chathistory memories secrets apikey password credential "
        "contextwindow privatenotes contactlist customerlist theinbox yourinbox "
        "personaldata homeaddress sessiontoken contacts emails notesoftheowner calendar"
    ),
}

# Words of somebody who writes about such sentences; they excuse a match in quotation marks.
DISCUSSION = (
    r"\b(?:attack\w*|inject\w*|jailbreak\w*|payloads?|phrases?|sentences?|words|string|says?|said|"
    r"wrote|writes?|typed?|filters?|detect\w*|classif\w*|block\w*|expect\w*|refus\w*|test\w*|"
    r"asser\w*|"
    r"patterns?|markers?|examples?|such as|asked|asks|hidden|hid|trick\w*|poison\w*|treat|because|"
    r"adversar\w*|malicious|worm|malware|attempts?|kind|explains?|reads?|screen|lower|"
    r"re\.compile|payloads|not in|rules|starts with|must not|"
    r"angreifer|satz|attaque\w*|expressions?|atacante|ataque|attacco|frase|aanvaller|zin|"
    r"atakujący|zdanie|злоумышленник|фраз\w*|зловмисник)\b|= ?[\[(]|攻击|隐藏|攻撃|文|공격|문장|"
    r"المهاجم|عبارة"
)
# In front of an order that stands in no quotation marks: somebody else's words, or told of.
REPORTED = (
    r"(?:\b(?:payload|attack|injection|jailbreak|phrase|sentence) ?(?:is|was|that says)?: ?|"
    r"\b(?:tells?|told|asks?|asked|persuad\w*|trick\w*|makes?|"
    r"made) (?!you\b)[^.!?,:;\n]{0,40} to )\Z"
)
