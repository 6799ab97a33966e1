//! Chat templates, those of models and worse ones.

use super::*;

/// What SmolLM2 and others have, in its usual form.
const CHATML: &str = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' \
     + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

fn file(template: &'static str) -> File {
    let file = letters(&[("<s>", 3), ("</s>", 3)], &[]).with("tokenizer.chat_template", Given::Text(template));
    let file = file.with("tokenizer.ggml.bos_token_id", Given::U32(4));
    file.with("tokenizer.ggml.eos_token_id", Given::U32(5))
}

fn chat(template: &'static str) -> Result<Chat, TextError> {
    Chat::from_header(&file(template).header())
}

fn user(content: &str) -> [Message<'_>; 1] {
    [Message { role: "user", content }]
}

fn render(template: &'static str) -> Result<String, TextError> {
    chat(template)?.render(&user("Hi <b> & 'é'"), true)
}

#[test]
fn messages_are_rendered_as_the_template_says() {
    let chat = chat(CHATML).unwrap();
    let messages = [
        Message { role: "system", content: "Be short." },
        Message { role: "user", content: "2 < 3 && \"x\"?" },
        Message { role: "assistant", content: "" },
    ];
    let text = "<|im_start|>system\nBe short.<|im_end|>\n<|im_start|>user\n2 < 3 && \"x\"?<|im_end|>\n\
                <|im_start|>assistant\n<|im_end|>\n";
    assert_eq!(chat.render(&messages, false).as_deref(), Ok(text));
    assert_eq!(chat.render(&messages, true), Ok(format!("{text}<|im_start|>assistant\n")));
    assert_eq!(chat.render(&[], false).as_deref(), Ok(""));
}

#[test]
fn blocks_are_trimmed_and_the_last_line_end_dropped() {
    let text = "{% if true %}\n  {% for m in messages %}\n{{ m.role }}\n  {%- endfor %}\n{% endif %}\n\nend\n";
    assert_eq!(render(text).as_deref(), Ok("user\nend"));
}

#[test]
fn templates_find_what_they_use() {
    for (template, text) in [
        ("{{ bos_token }}{{ messages[0].content | trim }}{{ eos_token }}", "<s>Hi <b> & 'é'</s>"),
        ("{{ messages[0]['content'].split(' ')[0].upper().strip('H') }}", "I"),
        ("{% if tools is not none %}tools{% elif not documents %}none{% endif %}", "none"),
        ("{% if strftime_now is defined %}{{ strftime_now('%d') }}{% else %}26 Jul{% endif %}", "26 Jul"),
        ("{% set ns = namespace(n=0) %}{% for i in range(9) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}", "36"),
        ("{% for i in [1, 2, 3] %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "1"),
        ("{% macro say(x) %}[{{ x }}]{% endmacro %}{{ say(messages | length) }}", "[1]"),
        ("{{ messages[-1].content[:2] ~ messages[1:] | length }}", "Hi0"),
        ("{{ messages[0].missing is defined }}{{ messages[0].missing }}", "False"),
        ("{{ 'a' if messages[0].role == 'user' and 'Hi' in messages[0].content else 'b' }}", "a"),
        ("{{ messages | tojson }}", r#"[{"content": "Hi <b> & 'é'", "role": "user"}]"#),
        ("{{ {'b': 1.5, 'a': [none, true, '\\n\"']} | tojson }}", r#"{"b": 1.5, "a": [null, true, "\n\""]}"#),
        ("{{ {'a': [1, 2], 'b': []} | tojson(indent=2) }}", "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": []\n}"),
        ("{% for k, v in {'x': 1}.items() %}{{ k }}{{ v }}{% endfor %}", "x1"),
        ("{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='role') | join }}", "user"),
    ] {
        assert_eq!(render(template).as_deref(), Ok(text), "{template}");
    }
}

#[test]
fn what_cannot_be_rendered_is_an_error_that_says_why() {
    let says = |template, part: &str| {
        let error = render(template).unwrap_err();
        assert!(matches!(error, TextError::Template { .. }), "{template}: {error}");
        assert!(error.to_string().contains(part) && error.to_string().len() < 200, "{template}: {error}");
    };
    says("{{ strftime_now('%d') }}", "strftime_now");
    says("{{ messages[0].missing.more }}", "undefined");
    says("{% for", "syntax error");
    says("{{ messages | nonsense }}", "nonsense");
    says("{{ messages[0].content.nonsense() }}", "nonsense");
    says("{% include 'chat' %}", "");
    says("{{ 1 // 0 }}", "");
    let missing = letters(&[], &[]);
    let key = "tokenizer.chat_template";
    assert_eq!(Chat::from_header(&missing.header()).unwrap_err(), TextError::Missing { key });
    let number = missing.with(key, Given::U32(1));
    assert!(matches!(Chat::from_header(&number.header()), Err(TextError::Value { .. })));
    let long = String::leak(" ".repeat(MOST_TEMPLATE as usize + 1));
    assert!(matches!(chat(long), Err(TextError::Large { .. })));
    let past = file("").with("tokenizer.ggml.bos_token_id", Given::U32(6));
    assert!(matches!(Chat::from_header(&past.header()), Err(TextError::Id { id: 6, vocabulary: 6, .. })));
}

#[test]
fn a_template_may_refuse() {
    let template = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('No system, please.') }}{% endif %}ok\
                    {% endfor %}";
    let chat = chat(template).unwrap();
    assert_eq!(chat.render(&user("x"), true).as_deref(), Ok("ok"));
    let error = chat.render(&[Message { role: "system", content: "" }], true).unwrap_err();
    assert_eq!(error, TextError::Raised { message: "No system, please.".into() });
    let inside = "{% macro no() %}{{ raise_exception('inside') }}{% endmacro %}{{ no() }}";
    assert_eq!(render(inside), Err(TextError::Raised { message: "inside".into() }));
}

#[test]
fn a_template_that_does_not_end_is_an_error() {
    for template in [
        "{% for a in range(10000) %}{% for b in range(10000) %}{% for c in range(10000) %}{% endfor %}{% endfor %}{% endfor %}",
        "{% for a in range(10000) %}{% for b in range(10000) %}{{ messages }}{% endfor %}{% endfor %}",
        // Doubles without end: in a text, and in a list as JSON.
        "{% set n = namespace(x='xx') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
        "{% set n = namespace(x=[1]) %}{% for i in range(50) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x | tojson }}",
    ] {
        assert_eq!(render(template), Err(TextError::Endless), "{template}");
    }
    // Calls without end, and lists without a bottom, are told apart.
    for template in [
        "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
        "{% set n = namespace(x=1) %}{% for i in range(1000) %}{% set n.x = [n.x] %}{% endfor %}{{ n.x | tojson }}",
    ] {
        assert!(matches!(render(template), Err(TextError::Template { .. })), "{template}");
    }
    let deep = String::leak("{{ ".to_owned() + &"[".repeat(10_000) + &"]".repeat(10_000) + " }}");
    assert!(matches!(render(deep), Err(TextError::Template { .. })));
}

#[test]
fn a_long_conversation_is_rendered() {
    let chat = chat(CHATML).unwrap();
    let text = "word ".repeat(2000);
    let messages = vec![Message { role: "user", content: &text }; 500];
    assert!(chat.render(&messages, true).unwrap().len() > 5_000_000);
}
