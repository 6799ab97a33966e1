export interface Message {
  role: "system" | "user" | "assistant";
  content: string;
}

/** The one family of chat templates that is understood; the default system message is the captured part. */
const FAMILY = new RegExp(
  [
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n",
    "<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}" +
      "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
  ]
    .map((part) => part.replace(/[|\\{}()[\]^$+*?.]/g, "\\$&"))
    .join("([^'{}]*)"),
);

/**
 * A conversation written out the way the model was trained to read it.
 *
 * Not an interpreter of templates: a template of another family is an error, since a prompt that is laid out slightly
 * wrong is answered by nothing and looks like a map that knows nothing.
 */
export class ChatTemplate {
  readonly defaultSystem: string;

  constructor(source: string) {
    const match = FAMILY.exec(source);
    if (match === null || match[0] !== source) throw new Error("this chat template is of a family that is not known here");
    this.defaultSystem = match[1]!;
  }

  /** The text up to where the model's answer begins. */
  render(messages: readonly Message[]): string {
    const system: Message = { role: "system", content: this.defaultSystem };
    const all = messages[0]?.role === "system" ? messages : [system, ...messages];
    return all.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`).join("") + "<|im_start|>assistant\n";
  }
}
