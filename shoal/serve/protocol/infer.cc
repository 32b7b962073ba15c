#include "shoal/serve/protocol/infer.h"

#include <functional>
#include <string_view>

#include "shoal/base/checked.h"
#include "shoal/base/text/json_text.h"
#include "shoal/base/text/printable.h"
#include "shoal/serve/protocol/tensor_json.h"

namespace shoal::serve {
namespace {

constexpr size_t kMostTensors = 256;  // of a message

Result<std::string_view> json_of(const Body& body) {
  const size_t size = body.json_bytes.value_or(body.bytes.size());
  if (size > body.bytes.size()) return invalid("the body is shorter than its JSON");
  return std::string_view(reinterpret_cast<const char*>(body.bytes.data()), size);
}

Status parse_tensors(JsonText& json, BinaryPart& binary, std::vector<NamedTensor>& tensors) {
  return json.list([&]() -> Status {
    if (tensors.size() == kMostTensors) return invalid("there are too many tensors");
    SHOAL_ASSIGN(NamedTensor tensor, parse_tensor(json, binary));
    tensors.push_back(std::move(tensor));
    return {};
  });
}

Status parse_parameters(JsonText& json, InferRequest& request) {
  return json.object([&](const std::string& key) -> Status {
    if (key == "timeout") {
      SHOAL_ASSIGN(request.timeout_us, json.integer());
    } else if (key == "priority") {
      SHOAL_TRY(json.number(request.priority));
    } else if (key == "latency_ms") {
      SHOAL_TRY(json.number(request.wish.latency_ms.emplace()));
    } else if (key == "accuracy") {
      SHOAL_TRY(json.number(request.wish.accuracy.emplace()));
    } else if (key == "confidence") {
      SHOAL_TRY(json.number(request.wish.confidence.emplace()));
    } else if (key == "exit") {
      SHOAL_TRY(json.number(request.wish.exit.emplace()));
    } else if (key == "binary_data_output") {
      SHOAL_ASSIGN(request.binary_outputs, json.boolean());
    } else {
      return json.skip();
    }
    return {};
  });
}

// The texts among parameters, a few at most; others say nothing here.
Status parse_texts(JsonText& json, std::map<std::string, std::string>& texts) {
  constexpr size_t kMost = 64;
  return json.object([&](const std::string& key) -> Status {
    if (!json.next_is('"') || texts.size() == kMost) return json.skip();
    SHOAL_ASSIGN(texts[key], json.text());
    return {};
  });
}

Status parse_wanted(JsonText& json, std::vector<WantedOutput>& outputs) {
  return json.list([&]() -> Status {
    if (outputs.size() == kMostTensors) return invalid("there are too many outputs");
    WantedOutput& output = outputs.emplace_back();
    return json.object([&](const std::string& key) -> Status {
      if (key == "name") {
        SHOAL_ASSIGN(output.name, json.text());
        return {};
      }
      if (key != "parameters") return json.skip();
      return json.object([&](const std::string& parameter) -> Status {
        if (parameter != "binary_data") return json.skip();
        SHOAL_ASSIGN(output.binary, json.boolean());
        return {};
      });
    });
  });
}

using Member = std::function<Status(JsonText& json, BinaryPart& binary, const std::string& key)>;

// One object, and after it the elements of its tensors.
Status parse_message(const Body& body, const char* what, const Member& member) {
  SHOAL_ASSIGN(const std::string_view text, json_of(body));
  JsonText json(text, what);
  BinaryPart binary(body);
  SHOAL_TRY(json.object([&](const std::string& key) { return member(json, binary, key); }));
  SHOAL_TRY(json.end());
  return binary.end();
}

void print_tensors(const char* name, const std::vector<NamedTensor>& tensors, Message& message) {
  message.json += std::string("\"") + name + "\":[";
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (i > 0) message.json += ',';
    print_tensor(tensors[i], message);
  }
  message.json += ']';
}

std::string member(const char* name, const std::string& text) {
  return std::string("\"") + name + "\":" + json_text(valid_utf8(text)) + ",";
}

std::string parameters_of(const InferRequest& request) {
  std::string text = request.binary_outputs ? "\"binary_data_output\":true," : "";
  if (request.timeout_us > 0) text += "\"timeout\":" + std::to_string(request.timeout_us) + ",";
  if (request.priority > 0) text += "\"priority\":" + std::to_string(request.priority) + ",";
  const auto add = [&](const char* name, const std::optional<double>& number) {
    if (number) text += std::string("\"") + name + "\":" + json_number(*number) + ",";
  };
  add("latency_ms", request.wish.latency_ms);
  add("accuracy", request.wish.accuracy);
  add("confidence", request.wish.confidence);
  if (request.wish.exit) text += "\"exit\":" + std::to_string(*request.wish.exit) + ",";
  if (text.empty()) return text;
  text.back() = '}';
  return "\"parameters\":{" + text + ",";
}

}  // namespace

Result<InferRequest> parse_infer_request(const Body& body) {
  InferRequest request;
  bool has_inputs = false;
  SHOAL_TRY(parse_message(
      body, "request", [&](JsonText& json, BinaryPart& binary, const std::string& key) -> Status {
        if (key == "id") {
          SHOAL_ASSIGN(request.id, json.text());
        } else if (key == "inputs") {
          has_inputs = true;
          return parse_tensors(json, binary, request.inputs);
        } else if (key == "outputs") {
          return parse_wanted(json, request.outputs);
        } else if (key == "parameters") {
          return parse_parameters(json, request);
        } else {
          return json.skip();
        }
        return {};
      }));
  if (!has_inputs) return invalid("request: there are no inputs");
  if (request.timeout_us < 0) return invalid("request: timeout is below 0");
  if (const Status sane = check(request.wish); !sane.ok()) return sane.at("request");
  return request;
}

Result<InferResponse> parse_infer_response(const Body& body) {
  InferResponse response;
  SHOAL_TRY(parse_message(
      body, "answer", [&](JsonText& json, BinaryPart& binary, const std::string& key) -> Status {
        if (key == "outputs") return parse_tensors(json, binary, response.outputs);
        if (key == "model_name") {
          SHOAL_ASSIGN(response.model_name, json.text());
        } else if (key == "model_version") {
          SHOAL_ASSIGN(response.model_version, json.text());
        } else if (key == "id") {
          SHOAL_ASSIGN(response.id, json.text());
        } else if (key == "parameters") {
          return parse_texts(json, response.parameters);
        } else {
          return json.skip();
        }
        return {};
      }));
  return response;
}

Result<InferRequest> parse_raw_request(const Body& body, const std::string& name, DType dtype,
                                       std::span<const int64_t> dims) {
  std::vector<int64_t> shape(dims.begin(), dims.end());
  int64_t* open = nullptr;
  Checked known(static_cast<int64_t>(size_of(dtype)));  // bytes for one index of the open dimension
  for (int64_t& dim : shape) {
    if (dim >= 0) {
      known = known * dim;
    } else if (open == nullptr) {
      open = &dim;
    } else {
      return invalid("a raw request needs an input with at most one open dimension");
    }
  }
  const auto size = static_cast<int64_t>(body.bytes.size());
  if (open != nullptr) {
    if (!known.ok() || known.value() == 0 || size % known.value() != 0) {
      return invalid("the body has no whole number of rows");
    }
    *open = size / known.value();
  }
  SHOAL_ASSIGN(const TensorType type, make_type(dtype, shape));
  BinaryPart binary({body.bytes, body.owner, 0});
  SHOAL_ASSIGN(Tensor tensor, binary.take(type, size));
  InferRequest request;
  request.binary_outputs = true;
  request.inputs.push_back({name, std::move(tensor), true});
  return request;
}

Message print(const InferRequest& request) {
  Message message;
  message.json = "{";
  if (!request.id.empty()) message.json += member("id", request.id);
  message.json += parameters_of(request);
  print_tensors("inputs", request.inputs, message);
  if (!request.outputs.empty()) {
    message.json += ",\"outputs\":[";
    for (const WantedOutput& output : request.outputs) {
      message.json += "{\"name\":" + json_text(valid_utf8(output.name));
      if (output.binary) {
        message.json += std::string(",\"parameters\":{\"binary_data\":") +
                        (*output.binary ? "true" : "false") + "}";
      }
      message.json += "},";
    }
    message.json.back() = ']';
  }
  message.json += '}';
  return message;
}

Message print(const InferResponse& response) {
  Message message;
  message.json = "{" + member("model_name", response.model_name) +
                 member("model_version", response.model_version);
  if (!response.id.empty()) message.json += member("id", response.id);
  if (!response.parameters.empty()) {
    message.json += "\"parameters\":{";
    for (const auto& [name, text] : response.parameters) message.json += member(name.c_str(), text);
    message.json.back() = '}';
    message.json += ',';
  }
  print_tensors("outputs", response.outputs, message);
  message.json += '}';
  return message;
}

}  // namespace shoal::serve
