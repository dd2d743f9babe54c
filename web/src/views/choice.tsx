// SPDX-License-Identifier: MIT
// choice.tsx - a select element with a label.

interface ChoiceProps<T extends string> {
  id: string;
  label: string;
  value: T;
  options: readonly { value: T; title: string; help?: string }[];
  choose: (value: T) => void;
}

export function Choice<T extends string>({ id, label, value, options, choose }: ChoiceProps<T>) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select id={id} value={value} onChange={(event) => choose(event.currentTarget.value as T)}>
        {options.map((option) => (
          <option key={option.value} value={option.value} title={option.help}>
            {option.title}
          </option>
        ))}
      </select>
    </label>
  );
}
