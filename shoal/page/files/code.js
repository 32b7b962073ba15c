// How to ask the chosen model from elsewhere.
import {byId, copyButton, element, tabs} from './dom.js';

const here = location.origin;
const one = (shape) => shape.map((size) => Math.max(size, 1));
const types = {FP32: 'float32', FP64: 'float64', FP16: 'float16', BOOL: 'bool'};
const numpyType = (datatype) => types[datatype] ?? datatype.toLowerCase();

function curl(model) {
  const url = `${here}/v2/models/${model.name}`;
  const inputs = model.inputs.map(({name, datatype, shape}) => `{"name": "${name}", "datatype": "${datatype}",
    "shape": [${one(shape).join(', ')}], "data": [...]}`).join(',\n  ');
  return `# a picture
curl --data-binary @picture.png ${url}/classify

# tensors
curl ${url}/infer -d '{"inputs": [
  ${inputs}]}'`;
}

function python(model) {
  const inputs = model.inputs.map(({name, datatype, shape}) => `    {"name": "${name}", "datatype": "${datatype}", "shape": [${one(shape).join(', ')}],
     "data": numpy.zeros((${one(shape).join(', ')},), "${numpyType(datatype)}").ravel().tolist()},`).join('\n');
  return `import json, numpy, urllib.request

body = {"inputs": [
${inputs}
]}
url = "${here}/v2/models/${model.name}/infer"
answer = json.load(urllib.request.urlopen(url, json.dumps(body).encode()))
for output in answer["outputs"]:
    print(output["name"], numpy.reshape(output["data"], output["shape"]))`;
}

function triton(model) {
  const inputs = model.inputs.map(({name, datatype, shape}) => `x = client.InferInput("${name}", [${one(shape).join(', ')}], "${datatype}")
x.set_data_from_numpy(numpy.zeros((${one(shape).join(', ')},), "${numpyType(datatype)}"))
inputs.append(x)`).join('\n');
  return `import numpy, tritonclient.http as client

server = client.InferenceServerClient("${location.host}")
inputs = []
${inputs}
answer = server.infer("${model.name}", inputs)
print(answer.as_numpy("${model.outputs[0]?.name ?? ''}"))`;
}

const kinds = {curl: ['curl', curl], python: ['Python', python], triton: ['Triton client', triton]};

export class Code {
  constructor() {
    const list = element('div', {role: 'tablist', class: 'tabs', 'aria-label': 'Language'});
    this.blocks = {};
    const panels = Object.entries(kinds).map(([key, [title]], i) => {
      list.append(element('button', {type: 'button', role: 'tab', id: `tab-${key}`, 'aria-controls': `panel-${key}`, 'aria-selected': i === 0 ? 'true' : 'false', tabindex: i === 0 ? 0 : -1}, title));
      const block = this.blocks[key] = element('pre', {tabindex: 0, role: 'region', 'aria-label': `${title} example`}, '\n');
      return element('div', {role: 'tabpanel', id: `panel-${key}`, 'aria-labelledby': `tab-${key}`, class: 'code', hidden: i !== 0},
        block, copyButton(() => block.textContent));
    });
    byId('code').replaceChildren(list, ...panels);
    tabs(list);
  }

  show(model) {
    for (const [key, [, write]] of Object.entries(kinds)) this.blocks[key].textContent = write(model);
  }
}
