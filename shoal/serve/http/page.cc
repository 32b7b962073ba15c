#include "shoal/serve/http/page.h"

namespace shoal::serve {
namespace {

constexpr std::string_view kPage = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Shoal</title>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 44rem; margin: 0 auto; padding: 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid #8885; }
label { display: block; margin: .5rem 0; }
output { white-space: pre-line; }
</style>
<h1>Shoal</h1>
<table><thead><tr><th>model<th>state<th>answered<th>failed<th>mean ms</thead><tbody id="models"></tbody></table>
<h2>Classify a picture</h2>
<label>Model <select id="model"></select></label>
<label>JPEG or PNG <input id="file" type="file" accept="image/jpeg,image/png"></label>
<output id="answer" for="model file"></output>
<p>The API is under <code>/v2</code>, metrics are at <code>/metrics</code>.</p>
<script>
const get = (id) => document.getElementById(id);
async function show() {
  const index = await (await fetch('/v2/repository/index', {method: 'POST'})).json();
  const stats = (await (await fetch('/v2/models/stats')).json()).model_stats;
  get('models').replaceChildren(...index.map((model) => {
    const {success, fail} = stats.find((s) => s.name === model.name).inference_stats;
    const row = document.createElement('tr');
    const mean = success.count ? (success.ns / success.count / 1e6).toFixed(3) : '';
    for (const text of [model.name, model.state, success.count, fail.count, mean])
      row.insertCell().textContent = text;
    return row;
  }));
  if (get('model').length === 0)
    for (const model of index) get('model').add(new Option(model.name));
}
async function classify() {
  const file = get('file').files[0];
  if (!file) return;
  const path = '/v2/models/' + encodeURIComponent(get('model').value) + '/classify';
  const answer = await (await fetch(path, {method: 'POST', body: file})).json();
  get('answer').textContent = answer.error ??
    answer.top.map((c) => c.label + ' ' + (100 * c.share).toFixed(1) + ' %').join('\n');
}
get('file').onchange = get('model').onchange = classify;
show();
setInterval(show, 1000);
</script>
</html>
)html";

}  // namespace

std::string_view page() { return kPage; }

}  // namespace shoal::serve
