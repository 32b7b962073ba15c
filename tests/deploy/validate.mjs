// Validates manifests, a JSON list on standard input, with the schemas of kubernetes-models. These
// accept fields that they do not know, so that each object is wrapped: a field that no validator
// has read is one that Kubernetes does not know. Prints what is wrong, a line each. 77: the schemas
// are not here.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const schemas = new URL('../peers/node_modules/kubernetes-models/_schemas/', import.meta.url);
const validators = {
  'apps/v1 Deployment': 'IoK8sApiAppsV1Deployment',
  'v1 PersistentVolumeClaim': 'IoK8sApiCoreV1PersistentVolumeClaim',
  'v1 Pod': 'IoK8sApiCoreV1Pod',
  'v1 Service': 'IoK8sApiCoreV1Service',
  'policy/v1 PodDisruptionBudget': 'IoK8sApiPolicyV1PodDisruptionBudget',
};

function watched(value, path, read) {
  if (value === null || typeof value !== 'object') return value;
  return new Proxy(value, {
    get(target, key) {
      const found = target[key];
      if (typeof key !== 'string' || !Object.hasOwn(target, key)) return found;
      read.add(`${path}/${key}`);
      return watched(found, `${path}/${key}`, read);
    },
  });
}

function* paths(value, path = '') {
  if (value === null || typeof value !== 'object') return;
  for (const [key, inner] of Object.entries(value)) {
    yield `${path}/${key}`;
    yield* paths(inner, `${path}/${key}`);
  }
}

const wrong = [];
for (const manifest of JSON.parse(readFileSync(0, 'utf8'))) {
  const kind = `${manifest.apiVersion} ${manifest.kind}`;
  const name = `${manifest.kind} ${manifest.metadata?.name}`;
  if (!(kind in validators)) {
    wrong.push(`${name}: no schema for ${kind}`);
    continue;
  }
  let schema;
  try {
    schema = require(fileURLToPath(new URL(`${validators[kind]}.js`, schemas)));
  } catch {
    console.log('kubernetes-models is not here: tools/setup peers');
    process.exit(77);
  }
  const read = new Set();
  if (!schema.validate(watched(manifest, '', read))) {
    for (const error of schema.validate.errors) {
      wrong.push(`${name}${error.instancePath}: ${error.keyword} ${JSON.stringify(error.params)}`);
    }
  }
  for (const path of paths(manifest)) {
    if (!read.has(path)) wrong.push(`${name}${path}: unknown`);
  }
}
for (const line of wrong) console.log(line);
process.exit(wrong.length > 0 ? 1 : 0);
