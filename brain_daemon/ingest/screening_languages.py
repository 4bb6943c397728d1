"""The orders of `screening_rules` in other languages than English; the table has the same form.

People write them as nominal sentences less often than in English, so where an order may begin is
not looked at: that it is only quoted is told by its quotation marks.
"""

# fmt: off
FOREIGN: tuple[tuple[str, int, str, str], ...] = (
    ("override", 2, "ignorier missacht vergiss + anweis richtlin instruk regeln befehl",
     r"(?:(?:ignorier\w*|missachte\w*|vergiss)\W+(?:\w+\W+){0,3}?(?:vorherigen?|"
     r"bisherigen?|obigen|früheren)\W+(?:\w+\W+)?(?:anweisung|richtlinie|instruktion|regeln|"
     r"befehl))"),
    ("override", 2, "allesoben allesbisher allesdassdir vergissalles",
     r"(?:vergiss alles, was dir|ignorier\w* alles (?:oben|bisher))"),
    ("leak", 2, "systemprompt",
     r"(?:(?:gib|zeig\w*|nenn\w*|verrat\w*)\W+(?:\w+\W+)?deinen? (?:\w+ )?system-?prompt)"),
    ("role", 2, "jetztbistdu nunanbistdu",
     r"(?:(?:ab jetzt|von nun an) bist du ein)"),
    ("override", 2,
     "vergissdein ignorieredein oublietes oubliezvos ignoretes ignorezvos olvidatus ignoratus "
     "ignoraletue dimenticaletue ignoresuas esquecasuas vergeetje negeerje zignorujswoje "
     "zapomnijo",
     r"\b(?:(?:vergiss|ignoriere) deine|(?:oublie|ignore) tes|(?:oubliez|ignorez) vos|(?:olvida|"
     r"ignora) tus|(?:ignora|dimentica) le tue|(?:ignore|esqueça) suas|(?:vergeet|negeer) je|"
     r"(?:zignoruj|zapomnij o) swo\w+) (?:\w+ )?(?:regeln|anweisungen|richtlinien|règles|"
     r"consignes|"
     r"instructions|reglas|instrucciones|regole|istruzioni|regras|instruções|regels|instructies|"
     r"zasad\w*|instrukcj\w+)"),
    ("leak", 2, "delsistema desistema",
     r"(?:muestra|muéstrame|dime|mostre|mostra|revela)\w*\W+(?:\w+\W+){0,2}?(?:prompt|mensaje|"
     r"mensagem)"
     r"\W+(?:del|de|do) sistema"),
    ("override", 2, "свои", r"(?<!не )(?:забудь|игнорируй|отбрось) свои (?:правила|инструкции|"
     "указания)"),
    ("override", 2, "你的规则 你的指令 你的指示", r"(?:忽略|无视|忘记)你的(?:规则|指令|指示)"),
    ("override", 2, "alleswas", r"\bignoriere alles, was (?:vorher|oben|bisher|davor)"),
    ("override", 2,
     "plustes plusvos", r"\bne sui(?:s|vez) plus (?:tes|vos) (?:instructions|consignes|"
     r"règles)"),
    ("override", 2, "cualquierregla cualquierinstr todaregla todainstr",
     r"\bignora (?:cualquier|toda) (?:regla|instrucción)"),
    ("override", 2, "ogniregola ogniistruz", r"\bignora ogni (?:regola|istruzione)"),
    ("role", 2, "gehorchstdu antwortestdu ignorierstdu",
     r"(?:ab sofort|ab jetzt|von nun an)\W+(?:gehorchst|antwortest|ignorierst) du"),
    ("leak", 2, "tesinstructions vosinstructions tesconsignes vosconsignes",
     r"(?:révèle|affiche|montre|donne|dis)[sz]?(?:-moi)? (?:tes|vos) (?:instructions|consignes)"),
    ("memory", 2, "dumusstimmer",
     r"(?:merke? dir:? du musst immer)"),
    ("hide", 1, "nutzernichts",
     r"(?:dem (?:nutzer|benutzer) nichts)"),
    ("override", 2, "ignore oublie comptede + instruc consigne directive regles",
     r"(?:(?:ignore[sz]?|oublie[sz]?|ne tene?z? pas compte de)\W+(?:\w+\W+){0,2}?"
     r"(?:instructions|consignes|directives|règles)\W+(?:\w+\W+)?(?:précédentes|antérieures|"
     r"ci-dessus))"),
    ("override", 2, "oublietout oublieztout",
     r"(?:oublie[sz]? tout ce qu['’]on)"),
    ("leak", 2, "tonprompt votreprompt",
     r"(?:(?:affiche|montre|révèle|donne)[sz]?\W+(?:\w+\W+)?(?:ton|votre) prompt)"),
    ("role", 2, "partirdemaintenant",
     r"(?:à partir de maintenant, (?:tu es|vous êtes) une? (?:ia|assistant))"),
    ("hide", 1, "utilisateur",
     r"(?:n['’]informe[sz]? pas l['’]utilisateur|sans (?:en )?informer l['’]utilisateur)"),
    ("exfiltrate", 1, "envoie",
     r"(?:envoie[sz]?\W+(?:\w+\W+){0,2}(?:conversation|mots de passe))"),
    ("override", 2, "ignora ignore olvida casoomiso descarta + instruc ordenes directri",
     r"(?:(?:ignor[ae]|olvida|haz caso omiso de|descarta)\W+(?:\w+\W+){0,2}?"
     r"(?:instrucciones|órdenes|directrices)\W+(?:anteriores|previas))"),
    ("override", 2, "olvidatodo",
     r"(?:olvida todo lo que te)"),
    ("leak", 2, "tuprompt delsistema",
     r"(?:(?:muestra|revela|dime|imprime)\W+tu prompt|(?:prompt|mensaje) del sistema completo)"),
    ("role", 2, "apartirdeahora",
     r"(?:a partir de ahora (?:eres|serás) una? (?:ia|asistente))"),
    ("hide", 1, "alusuario",
     r"(?:no le digas al usuario|sin (?:avisar|informar) al usuario)"),
    ("exfiltrate", 1, "enviasus contrasen",
     r"(?:envía sus datos|envía (?:\w+ ){0,2}contraseñas)"),
    ("override", 2, "ignora dimentica trascura + istruzion direttiv tuttoquello",
     r"(?:(?:ignora|dimentica|trascura)\W+(?:\w+\W+){0,2}?(?:istruzioni|direttive)"
     r"\W+precedenti|dimentica tutto quello che ti)"),
    ("leak", 2, "tuoprompt",
     r"(?:(?:rivela|mostra|stampa)\W+(?:il )?tuo prompt)"),
    ("role", 2, "daorainpoi",
     r"(?:da ora in poi sei un)"),
    ("override", 2, "ignore esqueca desconsidere + instruc ordens tudoo",
     r"(?:(?:ignore|esqueça|desconsidere)\W+(?:\w+\W+){0,2}?(?:instruções|ordens)\W+"
     r"anteriores|esqueça tudo o que)"),
    ("leak", 2, "seuprompt",
     r"(?:(?:mostre|revele|exiba)\W+(?:o )?seu prompt)"),
    ("role", 2, "apartirdeagora",
     r"(?:a partir de agora você é uma? (?:ia|assistente))"),
    ("override", 2, "negeer vergeet + instructies opdrachten alleswat",
     r"(?:(?:negeer|vergeet)\W+(?:\w+\W+){0,2}?(?:vorige|eerdere|voorgaande) "
     r"(?:instructies|opdrachten)|vergeet alles wat je)"),
    ("leak", 2, "systeemprompt",
     r"(?:(?:toon|geef|onthul) (?:je|jouw|uw) systeem-?prompt)"),
    ("role", 2, "vanafnubenje",
     r"(?:vanaf nu ben je een (?:ai|assistent))"),
    ("override", 2, "zignoruj zapomnij + poprzed wszystkim",
     r"(?:(?:zignoruj|zapomnij)\W+(?:\w+\W+){0,2}?poprzednie (?:instrukcje|polecenia)"
     r"|zapomnij o wszystkim, co)"),
    ("leak", 2, "swojprompt",
     r"(?:(?:pokaż|ujawnij|wypisz) swój prompt)"),
    ("role", 2, "odterazjestes",
     r"(?:od teraz jesteś (?:sztuczną|asystentem|ai\b))"),
    ("override", 2, "onceki soylenen + talimat komut unut",
     r"(?:önceki (?:tüm )?(?:talimat|komut)\w* (?:yok say|unut|göz ardı et)|"
     r"daha önce söylenen her şeyi unut)"),
    ("leak", 2, "sistemkomut sistemistem sistemprompt",
     r"(?:sistem (?:komut|istem|prompt)\w* (?:\w+ ){0,2}(?:göster|yazdır))"),
    ("role", 2, "yapayzeka",
     r"(?:bundan sonra (?:\w+ ){0,4}yapay zeka)"),
    ("override", 2, "ignorera glomallt + instruktion alltdu",
     r"(?:ignorera (?:\w+ ){0,2}tidigare instruktioner|glöm allt du)"),
    ("leak", 2, "dinsystem",
     r"(?:(?:visa|avslöja) din system-?prompt)"),
    ("override", 2, "игнорир забудь отбрось",
     r"(?<!не )(?:(?:игнорируй|забудь|отбрось)\w*\W+(?:\w+\W+){0,2}?(?:предыдущие|прежние|"
     r"прошлые) (?:инструкции|указания|правила)|забудь всё, что тебе)"),
    ("leak", 2, "системный",
     r"(?:(?:покажи|выведи|раскрой)\w*\W+(?:свой )?системный промпт)"),
    ("role", 2, "ты",
     r"(?:(?:с этого момента|отныне|теперь) ты (?:ии|бот|ассистент|модель))"),
    ("hide", 1, "пользователю",
     r"(?:не (?:сообщай|говори) пользователю)"),
    ("exfiltrate", 1, "отправь",
     r"(?:отправь (?:\w+ ){0,2}парол)"),
    ("override", 2, "ігноруй забудь",
     r"(?<!не )(?:(?:ігноруй|забудь)\w*\W+(?:\w+\W+){0,2}?попередні (?:інструкції|вказівки)|"
     r"забудь усе, що тобі)"),
    ("override", 2, "忽略 无视 忘记",
     r"(?:(?:忽略|无视|忘记)(?:你)?(?:之前|上面|以上|先前|此前)的?(?:所有|全部|一切)?的?"
     r"(?:指令|指示|命令|规则)|忘记你之前被告知)"),
    ("leak", 2, "系统提示",
     r"(?:(?:输出|显示|告诉我|透露)你的系统提示)"),
    ("role", 2, "从现在",
     r"(?:从现在(?:起|开始),你是)"),
    ("hide", 1, "告诉用户",
     r"(?:不要告诉用户)"),
    ("exfiltrate", 1, "密码 对话",
     r"(?:把(?:所有|全部)?(?:密码|对话)(?:发送|发)到)"),
    ("override", 2, "指示 命令",
     r"(?:(?:これまで|以前|上記|前)の(?:すべての)?(?:指示|命令)を(?:すべて)?"
     r"(?:無視|忘れ))"),
    ("leak", 2, "プロンプト",
     r"(?:システムプロンプトを(?:そのまま)?(?:表示|出力|教え))"),
    ("role", 2, "今からあなた",
     r"(?:今からあなたは.{0,8}ai)"),
    ("override", 2, "이전",
     r"(?:이전의? ?(?:모든 ?)?(?:지시|명령)\w* (?:무시|잊))"),
    ("leak", 2, "프롬프트",
     r"(?:시스템 프롬프트를 (?:그대로 )?(?:출력|보여|알려))"),
    ("role", 2, "지금부터",
     r"(?:지금부터 (?:너는|당신은)[^.\n]{0,40}ai)"),
    ("override", 2, "تجاهل",
     r"(?:تجاهل (?:جميع |كل )?التعليمات السابقة)"),
    ("leak", 2, "موجه",
     r"(?:(?:اعرض|اكشف|اطبع) موجه النظام)"),
    ("role", 2, "أنت|ذكاء",
     r"(?:من الآن فصاعدا أنت ذكاء)"),
    ("override", 2, "पिछले",
     r"(?:पिछले सभी निर्देशों को अनदेखा|पिछले सभी निर्देश भूल)"),
    ("leak", 2, "प्रॉम्प्ट",
     r"(?:अपना सिस्टम प्रॉम्प्ट)"),
    # --- the same two orders in further languages, and what those above lack
    ("override", 2, "anweisungen regeln richtlinien vorgaben instruktionen + deine dir diedu",
     r"\b(?:deine (?:\w+ )?(?:anweisungen|regeln|richtlinien|vorgaben|instruktionen)|"
     r"(?:anweisungen|"
     r"regeln|richtlinien|vorgaben|instruktionen), die (?:du|dir)\b[^.\n]{0,60}?) (?:sind|wurden|"
     r"gelten)"
     r" (?:\w+ ){0,2}(?:aufgehoben|ungültig|hinfällig|widerrufen|außer kraft|nicht mehr)"),
    ("role", 2, "jetzthastdu soforthastdu nunanhastdu",
     r"\b(?:ab (?:jetzt|sofort|nun)|von nun an) hast du keine (?:\w+ )?(?:regeln|grenzen|filter|"
     r"beschränkungen|richtlinien)"),
    ("leak", 2, "systemprompt systemnachricht systemanweisung",
     r"\b(?:wiederhol|nenn|zeig|gib|schreib|sag|verrat|kopier|"
     r"zitier)\w*\b[^.\n]{0,40}\bdeine[nmrs]? "
     r"(?:\w+ )?system-?(?:prompt|nachricht|anweisung)"),
    ("hide", 1, "anwender benutzer demnutzer + nichts",
     r"\b(?:erzähl|sag|verrat)\w* (?:dem|der) (?:anwender|benutzer|nutzer)\w* (?:\w+ )?nichts"),
    ("exfiltrate", 1, "uberweis passworter passwort",
     r"\b(?:überweise? (?:den|das|die|\d)|(?:schick|send)\w* (?:\w+ ){0,3}passw[oö]rt)"),
    ("override", 2, "consignes instructions reglesque reglesre directives + neties netenez "
     "nerespect "
     "nesui neappliq neobei",
     r"\bne (?:tiens|tenez|respecte[sz]?|suis|suivez|applique[sz]?|obéi\w+) (?:plus|"
     r"pas)\b[^.\n]{0,24}"
     r"\b(?:consignes|instructions|règles|directives) (?:reçues|que (?:tu|vous)|données|"
     r"précédentes|"
     r"initiales)"),
    ("leak", 2, "messagesysteme promptsysteme instructionssysteme",
     r"\b(?:recopie|répète|affiche|montre|révèle|donne|cite|écris)[sz]?\b(?: \w+){0,4} (?:(?:ton|"
     r"votre|"
     r"tes|vos) (?:message|prompt|instructions) système|le (?:message|prompt) système (?:mot|en "
     r"entier|"
     r"complet|ci-dessus)|mot (?:à|pour) mot le (?:message|prompt) système)"),
    ("role", 2, "desormaistues desormaisvous dorenavanttues dorenavantvous",
     r"\b(?:désormais|dorénavant),? (?:tu es|vous êtes) une? (?:ia|assistant|modèle)\b"),
    ("override", 2, "dejadeseguir dejadeobed nosigas + reglas instruc indicac normas",
     r"\b(?:deja de (?:seguir|obedecer)|no sigas(?: más)?)[^.\n]{0,12}\b(?:reglas|instrucciones|"
     r"indicaciones|normas) (?:que te|que recibiste|anteriores|iniciales)"),
    ("override", 2, "instrucciones indicaciones ordenes reglas + yano sinefecto anulad",
     r"\b(?:tus (?:instrucciones|reglas|órdenes|indicaciones)|(?:instrucciones|indicaciones|"
     r"reglas|"
     r"órdenes) que (?:recibiste|te dieron)[^.\n]{0,20}) (?:ya no (?:valen|sirven|cuentan|"
     r"aplican)|"
     r"quedan (?:anuladas|sin efecto))"),
    ("leak", 2, "delsistema desistema",
     r"\b(?:repite|copia|muestra|escribe|revela|imprime)\b(?: \w+){0,4}? (?:tu (?:mensaje|prompt) "
     r"del? "
     r"sistema|el (?:mensaje|prompt) del sistema (?:tal cual|completo|palabra))"),
    ("role", 2, "sinrestric sinlimit sinreglas sinfiltro",
     r"\b(?:ahora )?eres (?:ahora )?una? (?:ia|asistente|modelo|chatbot)\b[^.\n]{0,16}\bsin "
     r"(?:ninguna? )?"
     r"(?:restricci|límite|regla|filtro)"),
    ("role", 2, "sansrestric sanslimit sansregle sansfiltre sansaucune",
     r"\b(?:tu es|vous êtes) (?:maintenant |désormais )?une? (?:ia|assistant|"
     r"modèle)\b[^.\n]{0,16}\b"
     r"sans (?:aucune? )?(?:restriction|limite|règle|filtre)"),
    ("role", 2, "senzarestriz senzalimit senzaregol senzafiltr",
     r"\bsei (?:ora |adesso )?un(?:['’]|a |o )?\s?(?:ia|assistente|modello)\b[^.\n]{0,16}\bsenza "
     r"(?:restrizioni|limiti|regole|filtri)"),
    ("role", 2, "ohneeinschr ohneregeln ohnegrenz ohnefilter",
     r"\bdu bist (?:jetzt|nun|ab sofort) eine? (?:\w+ )?(?:ki|assistent\w*|modell|chatbot)\b[^.\n]"
     r"{0,16}\bohne (?:jede |alle )?(?:einschränkung|regel|grenze|filter)"),
    ("hide", 1, "alusuario", r"\bno se lo (?:cuentes|digas) al usuario"),
    ("exfiltrate", 1, "contrasen", r"\benvía (?:\w+ ){0,2}contraseñas"),
    ("override", 2, "istruzioni leregole gliordini + pi",
     r"\b(?:istruzioni|regole|ordini) (?:che (?:hai ricevuto|ti hanno dato)|ricevut[ei]|"
     r"precedenti) non "
     r"(?:valgono|contano) più|\bnon seguire più (?:le |gli )?(?:istruzioni|regole|ordini) (?:che|"
     r"ricevut|preceden|inizial)"),
    ("leak", 2, "disistema",
     r"\b(?:ripeti|copia|mostra|scrivi|rivela|stampa)\b(?: \w+){0,4}? (?:il tuo|le tue) "
     r"(?:messaggio|prompt|istruzioni) "
     r"di "
     r"sistema"),
    ("override", 2, "instrucoes asregras asordens + mais",
     r"\b(?:instruções|regras|ordens) que (?:você |tu )?(?:recebeu|recebeste|lhe deram) não "
     r"(?:valem|"
     r"contam) mais|\bnão siga mais (?:as )?(?:instruções|regras|ordens)"),
    ("leak", 2, "desistema dosistema",
     r"\b(?:repita|copie|mostre|escreva|revele|exiba)\b(?: \w+){0,3}? (?:sua|tua) mensagem d[eo] "
     r"sistema"),
    ("hide", 1, "usuario", r"\bsem avisar o usuário"),
    ("exfiltrate", 1, "assenhas", r"\benvie (?:\w+ ){0,2}senhas"),
    ("override", 2, "instructies deregels jeregels richtlijnen + niet",
     r"\b(?:volg|houd (?:je|u) aan)\b[^.\n]{0,24}\b(?:instructies|regels|richtlijnen) niet "
     r"(?:meer|langer)"
     r"|\bhoud (?:je|u) niet (?:meer|langer) aan (?:\w+ ){0,2}(?:instructies|regels|richtlijnen)"),
    ("leak", 2, "systeembericht systeemprompt",
     r"\b(?:herhaal|toon|geef|onthul|schrijf)\b(?: \w+){0,3} (?:je|jouw|uw) systeem-?(?:bericht|"
     r"prompt)"),
    ("override", 2, "ignorera bortsefr struntai alltidigare + instruktion regler riktlinj",
     r"\b(?:ignorera|glöm|bortse från|strunta i)(?! inte)(?: alla)? (?:tidigare|föregående|dina) "
     r"(?:\w+ )?"
     r"(?:instruktion|regler|riktlinj)\w*"),
    ("override", 2, "dinainstruktion dinaregler",
     r"\bglöm (?!inte)dina (?:instruktion|regler)\w*"),
    ("leak", 2, "systemprompt systemmeddel systembesked systemmelding",
     r"\b(?:visa|skriv|avslöja|upprepa|vis|afslør|gengiv|udskriv|avslør|gjengi)\b(?: \w+){0,2}? "
     r"(?:din |"
     r"mig din |meg )?system-?(?:prompt|meddelande|besked|melding)\w*"),
    ("override", 2, "tidligere foregaende + instruk regler retningsl ordre",
     r"\b(?:ignorer|glem|se bort fra)(?! ikke)(?: alle)?(?: de)? (?:tidligere|foregående) (?:\w+ "
     r")?(?:"
     r"instru\w+|regler|retningslinjer|ordre\w*)"),
    ("role", 2, "nuaferdu nuavardu mednuardu naaverdu",
     r"\b(?:fra nu af er du|fra nå av er du|från och med nu är du) en (?:ai|assistent|robot)\b"),
    ("override", 2, "ohjeet ohjeesi saannot saantosi maarayk",
     r"(?<!älä )\b(?:ohita|unohda|sivuuta)\W+(?:kaikki )?(?:(?:aiemmat|aikaisemmat|edelliset) "
     r"(?:ohjeet|"
     r"säännöt|määräykset)|ohjeesi|sääntösi)"),
    ("leak", 2, "jarjestelmakeh jarjestelmaviest",
     r"\b(?:näytä|tulosta|paljasta|kerro)\W+(?:\w+ )?järjestelmä(?:kehot|viest)\w*"),
    ("override", 2, "pokyny instrukce pravidla prikazy instrukcie",
     r"\b(?:ignoruj\w*|zapomeň\w*|zabudni\w*)\W+(?:na )?(?:vš\w+ |všetky )?(?:předchozí|"
     r"predchádzajúce|"
     r"dosavadní|svá|své|svoje) (?:pokyny|instrukce|pravidla|příkazy|inštrukcie|pravidlá)"),
    ("leak", 2, "systemovyprompt systemovouzpr systemovuspr",
     r"\b(?:ukaž|vypiš|zobraz|zopakuj|odhal)\w*\W+(?:\w+ ){0,2}?systémov\w+ (?:prompt|zpráv|"
     r"správ)"),
    ("override", 2, "utasitas szabaly",
     r"(?<!ne )\b(?:felejtsd el|hagyd figyelmen kívül|ignoráld)\W+(?:\w+ ){0,3}?(?:korábbi|előző|"
     r"eddigi) "
     r"(?:\w+ )?(?:utasítás|szabály)\w*"),
    ("leak", 2, "rendszerprompt rendszeruzen",
     r"\b(?:mutasd|írd ki|add ki|ismételd)\W+(?:\w+ ){0,3}?rendszer(?:prompt|üzenet)\w*"),
    ("override", 2, "instructiunile reguliledat regulile comenzile",
     r"(?<!nu )\b(?:ignoră|uită|nu mai respecta)\W+(?:toate )?(?:instrucțiunile|regulile|"
     r"comenzile) (?:"
     r"anterioare|precedente|de mai sus)"),
    ("leak", 2, "desistem",
     r"\b(?:arată|afișează|dezvăluie|repetă)\b(?: \w+){0,2} (?:promptul|mesajul) (?:tău )?de "
     r"sistem"),
    ("override", 2, "οδηγιεσ εντολεσ",
     r"(?<!μην )\b(?:αγνόησε|ξέχασε|παράβλεψε) (?:\w+ ){0,2}?(?:προηγούμενεσ|παραπάνω) (?:οδηγίεσ|"
     r"εντολέσ)"),
    ("leak", 2, "συστηματοσ", r"\b(?:δείξε|εμφάνισε|αποκάλυψε)\w* (?:\w+ ){0,3}?(?:μήνυμα|"
     "προτροπή) συστήματοσ"),
    ("override", 2, "ההוראות",
     r"(?<!אל )\b(?:התעלם|התעלמי|שכח|שכחי) (?:\w+ ){0,2}?ההוראות (?:הקודמות|שלמעלה)"),
    ("leak", 2, "המערכת", r"\b(?:הצג|הראה|חשוף) (?:\w+ ){0,2}?(?:הודעת|הנחיית|פרומפט) המערכת"),
    ("override", 2, "huongdan chidan chithi quytac",
     r"(?<!dung )\b(?:bo qua|quen|phot lo)\W+(?:\w+ ){0,2}?(?:huong dan|chi dan|chi thi|quy tac) "
     r"(?:\w+ )?"
     r"(?:truoc|o tren|ben tren)"),
    ("leak", 2, "hethong",
     r"\b(?:hien thi|in ra|cho (?:toi )?xem|tiet lo)\W+(?:\w+ ){0,2}?(?:loi nhac|prompt|thong "
     r"diep) he "
     r"thong"),
    ("override", 2, "ก่อนหน้า ข้างต้น",
     r"(?:ละเว้น|เพิกเฉย|ไม่ต้องสนใจ|ลืม)(?:ต่อ)?(?:คำสั่ง|คำแนะนำ|กฎ)\S{0,8}(?:ก่อนหน้า|"
     r"ข้างต้น)"),
    ("leak", 2, "ระบบ", r"(?:แสดง|เปิดเผย|พิมพ์)(?:คำสั่ง|พรอมต์|ข้อความ)ระบบ"),
    ("override", 2, "sebelumnya diatas + abaikan lupakan",
     r"(?<!jangan )\b(?:abaikan|lupakan)\W+(?:semua )?(?:instruksi|perintah|aturan|arahan) (?:\w+ "
     r")?(?:"
     r"sebelumnya|di atas)"),
    ("leak", 2, "promptsistem pesansistem instruksisistem",
     r"\b(?:tampilkan|tunjukkan|ungkapkan|cetak)\W+(?:\w+ )?(?:prompt|pesan|instruksi) sistem"),
    ("override", 2, "قبلی پیشین",
     r"(?:دستورالعمل\w*|دستورات|قوانین) (?:قبلی|پیشین) (?:\w+ )?را (?:نادیده|فراموش)"),
    ("leak", 2, "سیستم", r"(?:پرامپت|پیام|دستور) سیستم\w* را (?:\w+ )?(?:نشان|نمایش|چاپ)"),
    ("override", 2, "ہدایات", r"(?:پچھلی|سابقہ) (?:تمام )?ہدایات (?:\w+ )?کو نظر ?انداز"),
    ("override", 2, "القواعد التعليمات الأوامر",
     r"(?:تجاهل|انس) (?:\w+ )?(?:القواعد|التعليمات|الأوامر) (?:السابقة|التي (?:تلقيتها|أعطيت))"),
    ("leak", 2, "النظام", r"(?:اعرض|اكشف|اطبع|أظهر) (?:رسالة|تعليمات) النظام"),
    ("override", 2, "निर्देशों",
     r"(?:पिछले|पहले (?:दिए गए|के)) (?:सभी |सारे )?निर्देशों को (?:अनदेखा|भूल|नज़रअंदाज़)"),
    ("leak", 2, "सिस्टम", r"सिस्टम (?:प्रॉम्प्ट|संदेश) (?:दिखा|बता|छाप)"),
    ("override", 2, "নির্দেশ", r"(?:আগের|পূর্ববর্তী) (?:সব |সকল )?নির্দেশ\S* (?:উপেক্ষা|ভুলে)"),
    ("override", 2, "maagizo maelekezo + puuza sahau",
     r"\b(?:puuza|sahau) (?:maagizo|maelekezo) (?:\w+ )?(?:yaliyotangulia|ya awali)"),
    ("override", 2, "instruccionsant ordresant normesant",
     r"\b(?:ignora|oblida) (?:\w+ ){0,2}?(?:instruccions|ordres|normes) anteriors"),
    ("override", 2, "prethodn ranijaupu ranijeupu",
     r"(?<!ne )\b(?:ignoriš|ignorir|zanemari|zaboravi)\w* (?:\w+ )?prethodn\w+ (?:\w+ )?(?:upute|"
     r"uputstva|"
     r"instrukcije|naredbe|pravila)"),
    ("override", 2, "предишни предходни",
     r"(?<!не )\b(?:игнорирай|забрави|пренебрегни)\w* (?:\w+ )?(?:предишни|предходни)\w* "
     r"(?:инструкции|"
     r"указания|правила)"),
    ("leak", 2, "системна системния",
     r"\bпокажи (?:\w+ ){0,2}?системн\w+ (?:промпт|подкана|съобщение)"),
    ("override", 2, "свої попередні",
     r"(?<!не )\b(?:забудь|ігноруй)\w* (?:усі |всі )?(?:свої|попередні) (?:правила|інструкції|"
     r"вказівки)|"
     r"\bне зважай\w* на (?:усі |всі )?(?:свої|попередні) (?:правила|інструкції|вказівки)"),
    ("leak", 2, "системн",
     r"\b(?:покажи|виведи|повтори|раскрой|назови)\w* (?:\w+ ){0,2}?системн\w+ (?:підказк|"
     r"повідомлення|"
     r"сообщение|подсказк|инструкц)"),
    ("override", 2, "твои ваши прежние предыдущие",
     r"\b(?:твои|ваши) (?:инструкции|правила|указания) (?:больше|уже) не действ"),
    ("override", 2, "swoichzasad wczesniejszychzasad poprzednichzasad instrukcji polecen",
     r"\bnie (?:stosuj|przestrzegaj|słuchaj|trzymaj)(?: się)?(?: już)?(?: do)? (?:swoich|"
     r"wcześniejszych|"
     r"poprzednich) (?:zasad|instrukcji|poleceń)"),
    ("leak", 2, "systemow",
     r"\b(?:powtórz|pokaż|ujawnij|wypisz)\b(?: \w+)? (?:komunikat|prompt) systemow"),
    ("override", 2, "kurallar talimatlar + unut yoksay dikkatealma",
     r"\b(?:önceki|sana verilen) (?:\w+ )?(?:kural|talimat)lar\w* (?:yok say|unut(?!ma)|dikkate "
     r"alma)"),
    ("leak", 2, "sistemmesaj", r"\bsistem mesaj\w* (?:göster|yazdır|tekrarla)"),
    ("override", 2, "规则 指令 指示 規則",
     r"(?:不要再|别再)(?:遵守|遵循|听从)(?:你)?(?:收到|得到|之前)?的?(?:规则|指令|指示)|"
     r"(?:無視|忘記)(?:你)?(?:之前|上面|以上|先前)的?(?:所有|全部)?的?(?:指令|指示|規則)|"
     r"把(?:之前|上面|以上|先前)[^。\n]{0,8}(?:规则|指令|指示)[^。\n]{0,4}"
     r"(?:当作|视为)(?:不存在|无效)"),
    ("leak", 2, "提示",
     r"(?:复述|重复|逐字|打印)[^。\n]{0,6}(?:你的?系统提示|你最?开始收到的提示)"),
    ("override", 2, "ルール 規則",
     r"(?:これまで|以前|上記|最初に与えられた|与えられた)の?(?:すべての)?"
     r"(?:ルール|規則)(?:を|は)(?:すべて)?(?:無視|忘れて(?!も))"),
    ("leak", 2, "システムメッセージ",
     r"システムメッセージを(?:そのまま)?(?:表示して|出力して|教え|見せ)"),
    ("override", 2, "지시 규칙",
     r"(?:지금까지의|앞에서 받은|이전의?) (?:모든 )?(?:지시|규칙)\w* (?:모두 |전부 )?(?:무시|잊)"),
    ("leak", 2, "메시지", r"시스템 메시지를 (?:그대로 )?(?:출력|보여|알려)"),
)
