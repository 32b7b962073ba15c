// The examples of the protocol's documentation, hostile bytes, and what print() writes read back.
#include "shoal/serve/protocol/infer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string_view>

#include "shoal/serve/protocol/datatype.h"

namespace shoal::serve {
namespace {

// The bytes after the JSON are aligned as a server places them.
Body body_of(std::string_view text, std::optional<size_t> json_bytes = {}) {
  constexpr size_t kAlignment = 8;
  const size_t gap = json_bytes ? (kAlignment - *json_bytes % kAlignment) % kAlignment : 0;
  auto owner = std::make_shared<std::vector<std::byte>>(gap + text.size());
  if (!text.empty()) std::memcpy(owner->data() + gap, text.data(), text.size());
  return {std::span(*owner).subspan(gap), owner, json_bytes};
}

Body body_of(const Message& message) {
  std::string text = message.json;
  for (const Tensor& tensor : message.tensors) {
    text.append(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
  }
  return body_of(text, message.tensors.empty() ? std::nullopt : std::optional(message.json.size()));
}

Status status_of(std::string_view text, std::optional<size_t> json_bytes = {}) {
  return parse_infer_request(body_of(text, json_bytes)).status();
}

std::vector<uint32_t> to_vector(const Tensor& tensor) {
  const auto data = tensor.data<uint32_t>();
  return {data.begin(), data.end()};
}

// The REST specification, "Inference Request Examples".
TEST(InferRequest, ReadsTheExampleOfTheSpecification) {
  const auto request = parse_infer_request(body_of(R"({
    "id" : "42",
    "inputs" : [
      { "name" : "input0", "shape" : [ 2, 2 ], "datatype" : "UINT32", "data" : [ 1, 2, 3, 4 ] },
      { "name" : "input1", "shape" : [ 3 ], "datatype" : "BOOL", "data" : [ true, false, true ] }
    ],
    "outputs" : [ { "name" : "output0" } ]
  })"));
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(request->id, "42");
  ASSERT_EQ(request->inputs.size(), 2u);
  EXPECT_EQ(request->inputs[0].name, "input0");
  EXPECT_EQ(request->inputs[0].tensor.shape(), Shape({2, 2}));
  EXPECT_EQ(to_vector(request->inputs[0].tensor), (std::vector<uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(request->inputs[1].tensor.dtype(), DType::kBool);
  EXPECT_TRUE(request->inputs[1].tensor.data<bool>()[2]);
  ASSERT_EQ(request->outputs.size(), 1u);
  EXPECT_EQ(request->outputs[0].name, "output0");
  EXPECT_EQ(request->outputs[0].binary, std::nullopt);
}

// The same document: tensor data may be nested as the shape is.
TEST(InferRequest, ReadsNestedDataWhereverItStands) {
  const auto request = parse_infer_request(body_of(
      R"({"inputs":[{"data":[[1,2],[4,5]],"name":"i","shape":[2,2],"datatype":"UINT32"}]})"));
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(to_vector(request->inputs[0].tensor), (std::vector<uint32_t>{1, 2, 4, 5}));
}

// Triton's description of the binary data extension, with a shape that fits its size.
TEST(InferRequest, ReadsTheExampleOfTheBinaryExtension) {
  const std::string json = R"({
    "model_name" : "mymodel",
    "inputs" : [
      { "name" : "input0", "shape" : [ 2, 2 ], "datatype" : "UINT32",
        "parameters" : { "binary_data_size" : 16 } },
      { "name" : "input1", "shape" : [ 3 ], "datatype" : "BOOL",
        "parameters" : { "binary_data_size" : 3 } }
    ],
    "outputs" : [ { "name" : "output0", "parameters" : { "binary_data" : true } } ]
  })";
  std::string text = json;
  for (char c : {'\1', '\2', '\3', '\4'}) text += std::string{c, 0, 0, 0};
  text += std::string{1, 0, 1};
  const Body body = body_of(text, json.size());
  const auto request = parse_infer_request(body);
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(to_vector(request->inputs[0].tensor), (std::vector<uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(request->inputs[0].tensor.bytes().data(), body.bytes.data() + json.size());  // no copy
  EXPECT_FALSE(request->inputs[1].tensor.data<bool>()[1]);
  EXPECT_EQ(request->outputs[0].binary, true);
}

TEST(InferRequest, ReadsParametersAndIgnoresWhatItDoesNotKnow) {
  const auto request = parse_infer_request(body_of(R"({
    "parameters": {"timeout": 5000, "priority": 1, "binary_data_output": true, "sequence_id": 7},
    "later": {"any": [null, 1e300, {}]},
    "inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [0.5], "new": "field",
                "parameters": {"other": 1}}],
    "outputs": [{"name": "y", "parameters": {"classification": 3}, "more": []}]})"));
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(request->timeout_us, 5000);
  EXPECT_EQ(request->priority, 1u);
  EXPECT_TRUE(request->binary_outputs);
}

std::string with_tensor(const std::string& members) {
  return R"({"inputs":[{"name":"x",)" + members + "}]}";
}

TEST(InferRequest, RefusesWhatDoesNotFit) {
  for (const char* text :
       {"", "{", "[]", "{}", "null", R"({"inputs":{}})", R"({"inputs":[1]})", R"({"inputs":[]} x)",
        R"({"inputs":[],"inputs":[]})", R"({"id":5,"inputs":[]})",
        R"({"inputs":[],"parameters":{"timeout":-1}})",
        R"({"inputs":[],"parameters":{"priority":-1}})"}) {
    EXPECT_FALSE(status_of(text).ok()) << text;
  }
  EXPECT_FALSE(status_of(std::string(1 << 20, '[')).ok());
  for (const char* members :
       {R"("shape":[1],"data":[1])", R"("datatype":"FP32","data":[1])",
        R"("shape":[1],"datatype":"FP32")", R"("shape":[1],"datatype":"FP33","data":[1])",
        R"("shape":[1],"datatype":"FP16","data":[1])",
        R"("shape":[2],"datatype":"FP32","data":[1])",
        R"("shape":[1],"datatype":"FP32","data":[1,2])",
        R"("shape":[-1],"datatype":"FP32","data":[1])",
        R"("shape":[1],"datatype":"UINT8","data":[256])",
        R"("shape":[1],"datatype":"INT8","data":[1.5])",
        R"("shape":[1],"datatype":"FP32","data":["1"])",
        R"("shape":[1],"datatype":"BOOL","data":[2])",
        R"("shape":[1000000000],"datatype":"FP32","data":[1])",
        R"("shape":[1,1,1,1,1,1,1,1,1],"datatype":"FP32","data":[1])",
        R"("shape":[4294967296,4294967296],"datatype":"FP32","data":[1])",
        R"("shape":[1],"datatype":"FP32","data":[1],"parameters":{"binary_data_size":4})",
        R"("shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4})"}) {
    EXPECT_FALSE(status_of(with_tensor(members)).ok()) << members;
  }
  const std::string bytes = with_tensor(R"("shape":[1],"datatype":"BYTES","data":["a"])");
  EXPECT_EQ(status_of(bytes).code(), Code::kUnsupported);
}

TEST(InferRequest, RefusesBinaryDataThatDoesNotFit) {
  const auto with_size = [](const std::string& size) {
    return with_tensor(R"("shape":[1],"datatype":"FP32","parameters":{"binary_data_size":)" + size +
                       "}");
  };
  const std::string json = with_size("4");
  EXPECT_TRUE(status_of(json + "abcd", json.size()).ok());
  EXPECT_FALSE(status_of(json + "abc", json.size()).ok());
  EXPECT_FALSE(status_of(json + "abcde", json.size()).ok());
  EXPECT_FALSE(status_of(json, json.size() + 1).ok());
  for (const char* size : {"3", "-4", "8", "18446744073709551620", "9223372036854775807"}) {
    const std::string other = with_size(size);
    EXPECT_FALSE(status_of(other + "abcd", other.size()).ok()) << size;
  }
  const std::string boolean =
      with_tensor(R"("shape":[1],"datatype":"BOOL","parameters":{"binary_data_size":1})");
  EXPECT_TRUE(status_of(boolean + '\1', boolean.size()).ok());
  EXPECT_FALSE(status_of(boolean + '\2', boolean.size()).ok());
}

TEST(InferRequest, ReadsARawBody) {
  const std::string four(16, '\0');
  const int64_t open[] = {-1, 2}, closed[] = {2, 2}, both[] = {-1, -1}, three[] = {-1, 3};
  const auto request = parse_raw_request(body_of(four, 0), "x", DType::kF32, open);
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(request->inputs[0].tensor.shape(), Shape({2, 2}));
  EXPECT_TRUE(request->binary_outputs);
  EXPECT_TRUE(parse_raw_request(body_of(four, 0), "x", DType::kF32, closed).ok());
  EXPECT_FALSE(parse_raw_request(body_of(four, 0), "x", DType::kF64, closed).ok());
  EXPECT_FALSE(parse_raw_request(body_of(four, 0), "x", DType::kF32, both).ok());
  EXPECT_FALSE(parse_raw_request(body_of(four, 0), "x", DType::kF32, three).ok());
}

TEST(InferRequest, KeepsWishesAndRefusesThoseWithoutAMeaning) {
  InferRequest request;
  request.wish = {.latency_ms = 2.5, .accuracy = 0.9, .confidence = 0.5, .exit = 2};
  const auto read = parse_infer_request(body_of(print(request)));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->wish, request.wish);
  for (const char* bad : {R"("latency_ms":0)", R"("latency_ms":"fast")", R"("accuracy":1.5)",
                          R"("confidence":-1)", R"("exit":0)", R"("exit":1.5)"}) {
    const std::string text = R"({"inputs":[],"parameters":{)" + std::string(bad) + "}}";
    EXPECT_FALSE(status_of(text).ok()) << bad;
  }
}

TEST(InferResponse, KeepsTextsAmongParameters) {
  InferResponse response{"m", "1", "", {}, {{"decision", "7"}, {"variant", "v\"2"}}};
  const auto read = parse_infer_response(body_of(print(response)));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->parameters, response.parameters);
}

// The REST specification, "Inference Response Examples".
TEST(InferResponse, WritesTheExampleOfTheSpecification) {
  const InferResponse response{
      .model_name = "m",
      .model_version = "1",
      .id = "42",
      .outputs = {{"output0", Tensor::of<float>({3, 2}, {1, 1.1f, 2, 2.1f, 3, 3.1f}), false}}};
  const Message message = print(response);
  EXPECT_EQ(message.json,
            R"({"model_name":"m","model_version":"1","id":"42","outputs":[{"name":"output0",)"
            R"("datatype":"FP32","shape":[3,2],"data":[1,1.1,2,2.1,3,3.1]}]})");
  EXPECT_TRUE(message.tensors.empty());
}

TEST(InferResponse, WritesNullForWhatIsNoNumberInJson) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = INFINITY;
  const Message message =
      print(InferResponse{"m", "1", "", {{"y", Tensor::of<float>({2}, {nan, inf}), false}}});
  EXPECT_NE(message.json.find(R"("data":[null,null])"), std::string::npos);
}

// Every type both ways, as JSON where that can be and binary.
TEST(InferResponse, ReadsBackWhatItWrote) {
  for (size_t t = 0; t < kDTypeCount; ++t) {
    const auto dtype = static_cast<DType>(t);
    EXPECT_EQ(find_datatype(datatype_of(dtype)), dtype);
    for (bool binary : {false, true}) {
      SCOPED_TRACE(std::string(datatype_of(dtype)) + (binary ? " binary" : ""));
      InferResponse response{"m\"\\", "2", "\xc3\xa9", {}};
      for (const char* name : {"a", "b"}) {
        response.outputs.push_back({name, Tensor({dtype, {3, 5}}), binary});
        Tensor& tensor = response.outputs.back().tensor;
        for (size_t i = 0; i < 15; ++i) tensor.bytes()[i * size_of(dtype)] = std::byte{i % 2 == 1};
      }
      const auto read = parse_infer_response(body_of(print(response)));
      ASSERT_TRUE(read.ok()) << read.status().message();
      EXPECT_EQ(read->model_name, response.model_name);
      EXPECT_EQ(read->id, response.id);
      ASSERT_EQ(read->outputs.size(), 2u);
      EXPECT_EQ(read->outputs[1].tensor.type(), response.outputs[1].tensor.type());
      EXPECT_TRUE(std::ranges::equal(std::as_const(read->outputs[1].tensor).bytes(),
                                     std::as_const(response.outputs[1].tensor).bytes()));
    }
  }
}

TEST(InferRequest, ReadsBackWhatItWrote) {
  InferRequest request;
  request.id = "7";
  request.timeout_us = 12;
  request.priority = 3;
  request.binary_outputs = true;
  request.inputs.push_back({"x", Tensor::of<int64_t>({2}, {-5, int64_t{1} << 60}), true});
  request.inputs.push_back({"z", Tensor::of<double>({2}, {0.1, 1e-300}), false});
  request.outputs = {{"y", false}, {"w", std::nullopt}};
  const auto read = parse_infer_request(body_of(print(request)));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->id, "7");
  EXPECT_EQ(read->timeout_us, 12);
  EXPECT_EQ(read->priority, 3u);
  EXPECT_TRUE(read->binary_outputs);
  EXPECT_EQ(read->inputs[0].tensor.data<int64_t>()[1], int64_t{1} << 60);
  EXPECT_EQ(read->inputs[1].tensor.data<double>()[1], 1e-300);
  EXPECT_EQ(read->outputs[0].binary, false);
  EXPECT_EQ(read->outputs[1].binary, std::nullopt);
}

// Whatever a few changed bytes make of a request, it is read or refused.
TEST(InferRequest, SurvivesDamage) {
  InferRequest request;
  request.id = "7";
  request.inputs.push_back({"x", Tensor::of<float>({2, 2}, {1, 2, 3, 4}), true});
  request.inputs.push_back({"z", Tensor::of<bool>({2}, {true, false}), false});
  request.outputs = {{"y", true}};
  const Message message = print(request);
  const Body whole = body_of(message);
  const std::string text(reinterpret_cast<const char*>(whole.bytes.data()), whole.bytes.size());
  std::mt19937 rng(1);
  const auto draw = [&](size_t below) {
    return std::uniform_int_distribution<size_t>(0, below - 1)(rng);
  };
  size_t read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = text;
    for (size_t n = draw(3) + 1; n > 0; --n)
      damaged[draw(damaged.size())] = static_cast<char>(draw(256));
    if (draw(4) == 0) damaged.resize(draw(damaged.size()) + 1);
    read += parse_infer_request(body_of(damaged, message.json.size())).ok() ? 1 : 0;
  }
  EXPECT_GT(read, 0u);  // changed numbers, names and elements
}

}  // namespace
}  // namespace shoal::serve
