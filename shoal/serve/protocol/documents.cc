#include "shoal/serve/protocol/documents.h"

#include <algorithm>

#include "shoal/base/text/json_text.h"
#include "shoal/base/text/printable.h"
#include "shoal/serve/protocol/datatype.h"

namespace shoal::serve {
namespace {

std::string text_of(std::string_view text) { return json_text(valid_utf8(text)); }

// "[a,b]" of the texts that `print_one` gives.
template <class List, class Print>
std::string list_of(const List& list, const Print& print_one) {
  std::string text = "[";
  for (const auto& one : list) text += (text.size() > 1 ? "," : "") + print_one(one);
  return text + "]";
}

std::string dims_of(const std::vector<int64_t>& dims) {
  return list_of(dims, [](int64_t dim) { return std::to_string(dim); });
}

std::string print_tensors(const std::vector<TensorMetadata>& tensors) {
  return list_of(tensors, [](const TensorMetadata& tensor) {
    const std::string_view datatype = tensor.dtype ? datatype_of(*tensor.dtype) : "";
    return "{\"name\":" + text_of(tensor.name) + ",\"datatype\":" + text_of(datatype) +
           ",\"shape\":" + dims_of(tensor.shape) + "}";
  });
}

Status parse_tensors(JsonText& json, std::vector<TensorMetadata>& tensors) {
  return json.list([&]() -> Status {
    TensorMetadata& tensor = tensors.emplace_back();
    return json.object([&](const std::string& key) -> Status {
      if (key == "shape") return json.integers(tensor.shape);
      if (key == "name") {
        SHOAL_ASSIGN(tensor.name, json.text());
      } else if (key == "datatype") {
        SHOAL_ASSIGN(const std::string datatype, json.text());
        tensor.dtype = find_datatype(datatype);
      } else {
        return json.skip();
      }
      return {};
    });
  });
}

std::string config_tensors(const std::vector<TensorMetadata>& tensors) {
  return list_of(tensors, [](const TensorMetadata& tensor) {
    const std::string datatype = tensor.dtype ? std::string(datatype_of(*tensor.dtype)) : "INVALID";
    return "{\"name\":" + text_of(tensor.name) + ",\"data_type\":\"TYPE_" + datatype +
           "\",\"dims\":" + dims_of(tensor.shape) + "}";
  });
}

std::string print(const Total& total) {
  return "{\"count\":" + std::to_string(total.count) + ",\"ns\":" + std::to_string(total.ns) + "}";
}

std::string print(const BatchTotals& totals) {
  return "\"compute_input\":" + print(totals.input) + ",\"compute_infer\":" + print(totals.infer) +
         ",\"compute_output\":" + print(totals.output);
}

std::string print_one(const NamedStatistics& model) {
  const ModelStatistics& s = model.statistics;
  return "{\"name\":" + text_of(model.name) + ",\"version\":" + text_of(model.version) +
         ",\"last_inference\":" + std::to_string(s.last_inference_ms) +
         ",\"inference_count\":" + std::to_string(s.inferences) +
         ",\"execution_count\":" + std::to_string(s.executions) +
         ",\"inference_stats\":{\"success\":" + print(s.success) + ",\"fail\":" + print(s.fail) +
         ",\"queue\":" + print(s.queue) + "," + print(s.compute) +
         ",\"cache_hit\":" + print(Total{}) + ",\"cache_miss\":" + print(Total{}) +
         "},\"response_stats\":{},\"batch_stats\":" +
         list_of(s.batches,
                 [](const auto& batch) {
                   return "{\"batch_size\":" + std::to_string(batch.first) + "," +
                          print(batch.second) + "}";
                 }) +
         ",\"memory_usage\":[]}";
}

}  // namespace

void LatencyHistogram::add(uint64_t nanoseconds) {
  const auto bound = std::ranges::lower_bound(kBounds, static_cast<double>(nanoseconds) / 1e9);
  ++counts[static_cast<size_t>(bound - kBounds.begin())];
}

std::string print_server_metadata(std::string_view version, bool has_catalog) {
  return "{\"name\":\"shoal\",\"version\":" + text_of(version) +
         ",\"extensions\":[\"binary_tensor_data\",\"model_configuration\",\"model_repository\","
         "\"statistics\"" +
         (has_catalog ? ",\"catalog\"]}" : "]}");
}

std::string print(const ModelMetadata& metadata) {
  return "{\"name\":" + text_of(metadata.name) + ",\"versions\":[" + text_of(metadata.version) +
         "],\"platform\":\"onnx_onnxv1\",\"inputs\":" + print_tensors(metadata.inputs) +
         ",\"outputs\":" + print_tensors(metadata.outputs) + "}";
}

Result<ModelMetadata> parse_model_metadata(std::string_view text) {
  ModelMetadata metadata;
  JsonText json(text, "model metadata");
  SHOAL_TRY(json.object([&](const std::string& key) -> Status {
    if (key == "inputs") return parse_tensors(json, metadata.inputs);
    if (key == "outputs") return parse_tensors(json, metadata.outputs);
    if (key == "versions") {
      return json.list([&]() -> Status {
        SHOAL_ASSIGN(metadata.version, json.text());
        return {};
      });
    }
    if (key != "name") return json.skip();
    SHOAL_ASSIGN(metadata.name, json.text());
    return {};
  }));
  SHOAL_TRY(json.end());
  return metadata;
}

std::string print_config(const ModelMetadata& metadata, int64_t max_batch) {
  return "{\"name\":" + text_of(metadata.name) +
         ",\"platform\":\"onnx_onnxv1\",\"backend\":\"shoal\",\"max_batch_size\":0,"
         "\"input\":" +
         config_tensors(metadata.inputs) + ",\"output\":" + config_tensors(metadata.outputs) +
         ",\"parameters\":{\"max_batch\":{\"string_value\":\"" + std::to_string(max_batch) +
         "\"}}}";
}

std::string print(const std::vector<IndexEntry>& index) {
  return list_of(index, [](const IndexEntry& entry) {
    return "{\"name\":" + text_of(entry.name) + ",\"version\":" + text_of(entry.version) +
           ",\"state\":" + text_of(entry.state) + ",\"reason\":" + text_of(entry.reason) + "}";
  });
}

Result<bool> parse_index_request(std::string_view text) {
  if (text.empty()) return false;
  bool ready = false;
  JsonText json(text, "request");
  SHOAL_TRY(json.object([&](const std::string& key) -> Status {
    if (key != "ready") return json.skip();
    SHOAL_ASSIGN(ready, json.boolean());
    return {};
  }));
  SHOAL_TRY(json.end());
  return ready;
}

std::string print(const std::vector<NamedStatistics>& statistics) {
  return "{\"model_stats\":" + list_of(statistics, print_one) + "}";
}

std::string print_error(std::string_view message) { return "{\"error\":" + text_of(message) + "}"; }

}  // namespace shoal::serve
