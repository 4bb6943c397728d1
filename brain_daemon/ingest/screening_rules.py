"""What `screening` looks for: weighted patterns, the stems that each needs, words of discussion.

Patterns run on folded text (see `screening.fold`): lower case, no accents, no invisible marks.
They are folded themselves, so they may be written as people write. Points add up over rules.
"""

G = r"[\W_]{1,6}"  # between two words
START = (  # an order is given here: text, line or sentence begins, or a word that leads to one
    r"(?:\A|[.!?:;,>\]\)}|\n\"'“‘«„(*#/`>\-]\s*|\b(?:please|now|and|then|must|should|shall|will|"
    r"kindly|just|also|simply|instead|immediately|quietly|first|you to|is to|are to|sure to|"
    r"must not)"
    r"\s+)"
)
DROP = (
    r"(?:ignor(?:e|ing)|disregard|forget|overrid(?:e|ing)|bypass|neglect|discard|dismiss|skip|erase"
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
    r"(?![\W_]{1,6}(?:in|on|from|for|about|at|by|of)[\W_]{1,6}(?!me\b|you\b|your\b|this\b|now\b)\w)"
)
SECRETS = (
    r"(?:conversations?|chat history|memories|secrets|api keys?|passwords?|credentials|"
    r"context window|private notes|contact list|customer list|inbox|personal data|home address|"
    r"session token|contacts|emails?|notes of the owner|calendar)"
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
     rf"content|context|rules|orders|that|which){G}){{1,4}}(?:above|before this|you (?:have |had "
     r"|were )?(?:been |so far)?(?:given|told|received|had|so far)|that tell you|given to you|"
     r"your developers))"),
    ("override", 2, "theaboveand theaboveinstead",
     rf"{START}(?:{DROP}{G}the{G}above{G}(?:and|instead))"),
    ("override", 2, "@DROP + instructionsabove",
     rf"{START}(?:{DROP}{G}the{G}instructions{G}above)"),
    ("override", 2,
     "@DROP + systemprompt systemmess systeminstr systempol developermess developerinstr "
     "developerprompt contentfilter contentpol safetyfilter safetypol safetyinstr",
     rf"{START}(?:{DROP}{G}(?:the|any){G}(?:system|developer|safety|content){G}"
     r"(?:prompt|message|instructions|policy|filters?))"),
    ("override", 2, "@DROP + theuser",
     rf"{START}(?:{DROP}{G}the{G}user(?:'s|’s)?\b)"),
    ("override", 2, "instructionsare instructionshave instructionswere rulesarecancel",
     r"(?:all prior rules are cancelled|your (?:\w+ )?instructions (?:are|have "
     r"been|were) (?:void|cancelled|revoked|updated|replaced|suspended))"),
    ("override", 2, "instructionsyou instructionsthatyou",
     r"(?:instructions (?:that )?you (?:received|were given|got)[^.\n]{0,30}"
     r"(?:no longer|do not|are void))"),
    ("override", 2, "ignoremy disregardmy",
     r"(?:i will (?:now )?(?:ignore|disregard) my (?:\w+ )?instructions)"),
    ("override", 2, "mustignore shallignore istoignore mustdisregard shalldisregard istodisregard",
     r"(?:(?:the assistant|ai \w+|they|who|file|models?) (?:must|shall|is to) "
     r"(?:ignore|disregard) (?:its|their|all) (?:\w+ )?(?:instructions|guidelines|rules))"),
    ("obey", 1,
     "obeyonly obeyme obeythis obeythe obeymy obeysme andobey youobey andcomply complywith "
     "followonly followme followmy followthis followthese followthe onlymymess youonlyfollow "
     "answerfreely repeatafterme doexactlywhat highestauth asacommand",
     r"(?:\b(?:obey|follow|comply with) (?:only )?(?:me\b|my\b|this\b|mine\b|these\b|"
     r"every request|the (?:document|following|text|new instructions))|only my messages count|"
     r"\bobey only|obeys? (?:me|this note)|\byou only follow|answer freely|repeat after me|"
     r"and (?:obey|comply)\b|do exactly what i say|as (?:a command|the highest authority)"
     r"|you obey)"),
    ("new", 1, "newinstruction newpolicy newsystem realtaskis",
     r"(?:\bnew (?:system )?(?:instructions?|policy)(?: for the \w+)?(?: below)?\s*:"
     r"|the new instructions below|follow the new instructions|the real task is)"),
    ("new", 2, "yournew newinstruction newsystem",
     r"(?:your new (?:instructions?|task|rules|role) (?:are|is)\b|new instructions? for "
     rf"the (?:{MACHINE})\b|new system (?:prompt|instructions)\b)"),
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
     r"words|sentences?))[\W_]{1,6}above)"),
    ("leak", 2,
     "wereyoutold ownsystemprompt developerinstr hiddeninstr secretinstr confidentialinstr "
     "youareworkingunder",
     r"(?:what were you told|with your own system prompt|(?:developer|hidden|secret|"
     r"confidential) instructions (?:you|that were)|instructions you are working under)"),
    ("role", 2, "youarenow youarefree youarenolonger doanything youareunfilter youaretoact",
     r"(?:you are now (?:dan\b|stan\b|in \w+ mode|free\b|unrestricted|authori[sz]ed to|"
     rf"(?:an? )(?:[\w-]+ ){{0,3}}{MACHINE}\b)|you are (?:free now|no longer (?:an?|bound))|"
     r"do anything now|you are unfiltered|you are to act as)"),
    ("role", 2, "unrestricted uncensored unfiltered jailbroken amoral",
     rf"(?:(?:act|role-?play|respond|answer|behave|simulate|pretend|imagine|speak)(?:{G}[\w-]+)"
     r"{0,6}[\W_](?:unrestricted|uncensored|unfiltered|jailbroken|amoral)\b)"),
    ("role", 2,
     "norules norestric nofilter nolimit nocontentpol noconstraint noethic nomoral anyrules "
     "anyrestric anyfilter anylimit anyconstraint anyethic anymoral withoutethic withoutmoral "
     "withoutrestric withoutrules withoutfilter withoutlimit withoutconstraint",
     rf"(?:(?:act|role-?play|respond|answer|behave|simulate|pretend|imagine)(?:{G}[\w-]+){{0,6}}"
     rf"[\W_]{MACHINE}\b(?:{G}[\w-]+){{0,5}}{G}(?:no|without|any){G}(?:[\w-]+{G})?{FREE})"),
    ("role", 2,
     "youhaveno filtersare restrictionsare restrictionis limitsare rulesare youcanbypass "
     "avoidnorms younever",
     rf"(?:you have no {FREE}|your {FREE} (?:are|is) (?:disabled|off|lifted)|"
     r"you can bypass all|you strive to avoid norms|and you never refuse)"),
    ("role", 2, "fromnowon henceforth fromthispoint fromhereon fromtodayon",
     r"(?:(?:from (?:now|this point|here|today) on|henceforth),? (?:you )?(?:will |must |shall |"
     r"only |always )*(?:act as an?\b|obey|comply|ignore (?:your|all)|respond as|trust messages|"
     r"end your (?:replies|answers)|answer every question (?:\w+ )+with|"
     rf"are (?:an?|the) (?:[\w-]+ ){{0,3}}(?:{MACHINE}|shell)\b))"),
    ("unbound", 1,
     "withoutrestric withoutanyrestric withoutrefus withoutanyrefus neverrefuse "
     "stayincharacter breakcharacter bypassyour answereverything",
     r"(?:without (?:any )?(?:restrictions?|refusing)|never refuse|"
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
    ("spoof", 2, "theassistantmust theassistantis theassistantwill theassistantshall",
     r"(?:the assistant (?:must|is to|will|shall) (?:transfer|skip|ignore|disregard|"
     r"send|forward|obey|comply|reveal|share|bypass))"),
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
    ("shell", 1, "runrmrf curlhttp sshidrsa withoutaskingtheuser donotasktheuser",
     r"(?:rm -rf|curl http|\.ssh/id_rsa|without asking the user|do not ask the user)"),
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
     rf"collect|render|transmit|share)\s(?:[\w'’]+\s){{0,5}}?{SECRETS})"),
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
     r"(?:\bto (?:\w+ )?(?:https?://|\S+@\w|pastebin|the webhook|this (?:url|address|"
     r"link)|the (?:following )?address)|link below|in your next (?:web search|request|reply)|"
     r"to everyone|in (?:y)?our logs)"),
    ("memory", 2, "rememberthatyou rememberthisthatyou",
     r"(?:remember(?: this)?:? that you (?:must|should|are (?:not )?allowed to|may|can)"
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
     r"sessions?|answers?|responses?|replies),? (?:you must|always|tell|that you are allowed))"),
    ("memory", 2,
     "theuserask theusermention anyoneask someoneask auserask youareasked youreasked "
     "anyonemention someonemention ausermention",
     r"(?:\b(?:when|whenever|every time|each time|if) (?:the user|anyone|someone|a user|you are|"
     r"you['’]?re) (?:asks?|asked|mentions?)\b[^.\n]{0,60}?, (?:always|you must|reply|respond|say|"
     r"answer that|tell|recommend|first send))"),
    ("memory", 2, "alwaystelltheuser neverwarntheuser youmustalways alwaysrecommend",
     r"(?:(?:always tell|never warn) the user|you must always (?:obey|answer in "
     r"favou?r|recommend)|always recommend \w+ (?:products|over))"),
    ("hide", 2, "theuser + donot dont never hidden",
     r"(?:(?:do not|don'?t|never) (?:tell|let|inform|reveal to) the users?[^.\n]{0,40}"
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
     "changetherecip bankaccount askthem asktheuser allowedtoshare approvedevery fromtoday "
     "carryoutthe hiddentext",
     r"(?:change the recipient|bank account|ask (?:them|the user) for (?:the|their) "
     r"(?:card|password)|are allowed to share|approved every purchase|from today\b|"
     r"carry out the steps|hidden text)"),
)
# fmt: on

# Stems that several rules need; "@NAME" in a rule's needs.
STEMS = {
    "@DROP": (
        "ignore ignoring disregard forget overrid bypass neglect discard dismiss skipall "
        "skipany skipevery skipthe skipyour eraseall eraseany erasethe eraseyour cancel "
        "dropall dropany dropevery dropyour setaside putaway throwaway noattention "
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
    r"adversar\w*|malicious|screen|lower|re\.compile|payloads|not in|rules|starts with|must not|"
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
