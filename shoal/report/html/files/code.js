// How to ask the chosen model from elsewhere.
import {byId, copyButton, element, hasKey, tabs} from './dom.js';

const here = location.origin;
const types = {FP32: 'float32', FP64: 'float64', FP16: 'float16', BOOL: 'bool'};
const numpyType = (datatype) => types[datatype] ?? datatype.toLowerCase();
const shapeOf = ({shape}) => `[${shape.map((size) => Math.max(size, 1)).join(', ')}]`;
const variable = (i, all) => (all.length > 1 ? `x${i}` : 'x');
// Names come from model files: as literals, which JSON's texts are in Python, too, and inside '…' of a shell.
const literal = (text) => JSON.stringify(text);
const quoted = (text) => text.replaceAll("'", `'\\''`);

function curl(model) {
  const key = hasKey() ? ' \\\n  -H "Authorization: Bearer $KEY"' : '';
  const url = `${here}/v2/models/${model.name}`;
  const inputs = model.inputs.map((input) => `    {"name": ${quoted(literal(input.name))}, "datatype": "${input.datatype}",
     "shape": ${shapeOf(input)}, "data": [...]}`).join(',\n');
  return `# a picture
curl --data-binary @picture.png \\
  ${url}/classify${key}

# tensors
curl ${url}/infer \\
  -d '{"inputs": [
${inputs}]}'${key}`;
}

const zeros = (model) => model.inputs.map((input, i, all) =>
  `${variable(i, all)} = numpy.zeros(${shapeOf(input)}, "${numpyType(input.datatype)}")`).join('\n');

function python(model) {
  const inputs = model.inputs.map((input, i, all) => {
    const x = variable(i, all);
    return `    {"name": ${literal(input.name)}, "datatype": "${input.datatype}",
     "shape": ${x}.shape, "data": ${x}.ravel().tolist()},`;
  }).join('\n');
  return `import json, urllib.request
import numpy

${zeros(model)}
body = json.dumps({"inputs": [
${inputs}
]}).encode()
url = "${here}/v2/models/${model.name}/infer"
request = urllib.request.Request(url, body)
${hasKey() ? 'request.add_header("Authorization", "Bearer " + KEY)\n' : ''}answer = json.load(urllib.request.urlopen(request))
for output in answer["outputs"]:
    print(output["name"], output["shape"], output["data"])`;
}

function triton(model) {
  const inputs = model.inputs.map((input, i, all) => {
    const x = variable(i, all);
    return `inputs.append(client.InferInput(
    ${literal(input.name)}, ${x}.shape, "${input.datatype}"))
inputs[-1].set_data_from_numpy(${x})`;
  }).join('\n');
  return `import numpy
import tritonclient.http as client

${zeros(model)}
inputs = []
${inputs}
server = client.InferenceServerClient("${location.host}")
answer = server.infer("${model.name}", inputs${hasKey() ? ', headers={"Authorization": "Bearer " + KEY}' : ''})
print(answer.as_numpy(${literal(model.outputs[0]?.name ?? '')}))`;
}

const kinds = {curl: ['curl', curl], python: ['Python', python], triton: ['Triton client', triton]};

export class Code {
  constructor() {
    const list = element('div', {role: 'tablist', class: 'list', 'aria-label': 'Language'});
    this.blocks = {};
    const panels = Object.entries(kinds).map(([key, [title]], i) => {
      list.append(element('button', {type: 'button', role: 'tab', id: `tab-${key}`, 'aria-controls': `panel-${key}`, 'aria-selected': i === 0 ? 'true' : 'false', tabindex: i === 0 ? 0 : -1}, title));
      const block = this.blocks[key] = element('pre', {tabindex: 0, role: 'region', 'aria-label': `${title} example`}, '\n');
      return element('div', {role: 'tabpanel', id: `panel-${key}`, 'aria-labelledby': `tab-${key}`, class: 'code', hidden: i !== 0}, block);
    });
    const copy = copyButton(() => panels.find((panel) => !panel.hidden).textContent);
    byId('code').replaceChildren(element('div', {class: 'tabs'}, list, copy), ...panels);
    tabs(list);
  }

  show(model) {
    for (const [key, [, write]] of Object.entries(kinds)) this.blocks[key].textContent = write(model);
  }
}
