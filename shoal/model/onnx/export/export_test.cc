#include "shoal/model/onnx/export/export.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <set>

#include "shoal/model/graph/text.h"
#include "shoal/model/onnx/bind/bind.h"
#include "shoal/model/onnx/export/sparse_storage.h"
#include "shoal/model/ops/ops.h"

namespace shoal::onnx {
namespace {

Graph parse(std::string_view text) {
  auto graph = parse_text(text, ops::find);
  SHOAL_CHECK(graph.ok());
  return *std::move(graph);
}

std::string refusal(std::string_view text) {
  return std::string(to_onnx(parse(text)).status().message());
}

using File = std::vector<std::byte>;

// What reading the file and writing it again gives.
Result<File> again(const File& file) {
  const auto owner = std::make_shared<const File>(file);
  SHOAL_ASSIGN(const auto model, Model::parse(owner, *owner));
  SHOAL_ASSIGN(const KnownValues inputs, declared_inputs(*model));
  SHOAL_ASSIGN(const Bound bound, bind(model, inputs));
  SHOAL_CHECK(bound.rest == nullptr);
  return to_onnx(bound.graph, bound.outputs);
}

// Where fields of the outermost message end: what is left of a file that is cut there is a message.
std::set<size_t> ends_of_fields(const File& file) {
  size_t at = 0;
  const auto number = [&] {
    uint64_t sum = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = std::to_integer<uint64_t>(file.at(at++));
      sum |= (byte & 0x7f) << shift;
      if (byte < 0x80) return sum;
    }
  };
  std::set<size_t> ends = {0};
  while (at < file.size()) {
    const bool has_length = (number() & 7) == 2;
    const uint64_t value = number();
    if (has_length) at += value;
    ends.insert(at);
  }
  return ends;
}

TEST(Export, IsRefusedWhereverItIsCut) {
  const File whole = *to_onnx(parse(R"(input x f32[1,1,4,4]
const w f32[2,1,3,3] = random(1)
const m f32[8,3] = random(2)
const b f32[3] = random(3)
c = Conv(x, w)
r = Relu(c)
f = Flatten(r)
y = Gemm(f, m, b)
output y
)"));
  const std::set<size_t> ends = ends_of_fields(whole);
  EXPECT_GT(ends.size(), 3u);
  EXPECT_EQ(*ends.rbegin(), whole.size());
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    const auto end = whole.begin() + static_cast<std::ptrdiff_t>(cut);
    const auto owner = std::make_shared<const File>(whole.begin(), end);
    const auto model = Model::parse(owner, *owner);
    if (ends.contains(cut) && model.ok()) continue;
    ASSERT_FALSE(model.ok()) << cut;
    EXPECT_EQ(model.status().message().find('\n'), std::string_view::npos) << cut;
    if (!ends.contains(cut)) {
      EXPECT_EQ(model.status().code(), Code::kCorrupt) << cut;
    }
  }
}

class RoundTrip : public testing::TestWithParam<const char*> {};

TEST_P(RoundTrip, IsStable) {
  const auto first = to_onnx(parse(GetParam()));
  ASSERT_TRUE(first.ok()) << first.status().message();
  const auto second = again(*first);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_TRUE(*first == *second);
}

INSTANTIATE_TEST_SUITE_P(
    Export, RoundTrip,
    testing::Values(
        "input x f32[2,3]\nconst w f32[3,100] = random(1)\ny = Gemm(x, w) alpha=0.5\noutput y\n",
        // An input left out, attributes of every kind, names that need care.
        "input \"the image\" f32[1,3,8,8]\nconst w f32[4,3,3,3] = random(2)\n"
        "y = Conv(\"the image\", w) pads=[1,1,1,1] auto_pad=\"NOTSET\" @first\n"
        "const low f32[] = [0.5]\nz = Clip(y, _, low)\noutput z\noutput y\n",
        // Several outputs, one without a reader.
        "input x f32[5]\nconst k i64[1] = [2]\nv, i = TopK(x, k)\noutput v\n",
        // Every other element type.
        "input x bf16[2]\nconst w bf16[2] = [1.5,-2]\ny = Add(x, w)\noutput y\n",
        "input x f16[2]\nconst w f16[2] = [1.5,-2]\ny = Add(x, w)\noutput y\n",
        "input x f64[2]\nconst w f64[2] = [1.5,-2]\ny = Add(x, w)\noutput y\n",
        "input x bool[2]\nconst w bool[2] = [true,false]\ny = And(x, w)\noutput y\n",
        "input x u8[2]\nconst w u8[2] = [1,255]\ny = Add(x, w)\noutput y\n",
        "input x i64[2]\nconst w i64[2] = [1,-2]\ny = Add(x, w)\noutput y\n",
        // Scalars and tensors without elements.
        "input x f32[]\ny = Relu(x)\noutput y\n",
        "input x f32[0,3]\nconst w f32[0,3] = []\ny = Add(x, w)\noutput y\n",
        // Operators of ours, and outputs that no node computes.
        "input x f32[4]\ny = Gelu(x)\noutput y\n",
        "input x f32[2]\nconst w f32[2] = [1,2]\noutput x\noutput w\noutput w\n"));

// Every byte differs from its neighbours, so that it is found in the file where it lies.
Tensor pattern(int64_t count) {
  Tensor tensor({DType::kU8, {count}});
  std::iota(tensor.data<uint8_t>().begin(), tensor.data<uint8_t>().end(), uint8_t{1});
  return tensor;
}

TEST(Export, AlignsEveryWeightWhateverPrecedesIt) {
  // The lengths around 128 and 16384 are where length prefixes grow.
  for (int64_t count : {90, 100, 110, 120, 127, 128, 129, 16'290, 16'383, 16'384}) {
    for (size_t name = 1; name < 130; ++name) {
      const Tensor weights = pattern(count);
      Graph graph;
      const ValueId x = graph.add_input("x", weights.type());
      const ValueId w = graph.add_constant(std::string(name, 'w'), weights);
      graph.mark_output(*graph.add(ops::add, {x, w}));
      auto bytes = to_onnx(graph);
      ASSERT_TRUE(bytes.ok()) << bytes.status().message();
      const auto elements = weights.bytes();
      const auto at = std::search(bytes->begin(), bytes->end(), elements.begin(), elements.end());
      ASSERT_NE(at, bytes->end());
      EXPECT_EQ((at - bytes->begin()) % 64, 0) << count << " elements, name " << name;
    }
  }
}

// Only what people read is lost: the graph computes the same under the names of its ends.
TEST(Export, WritesFewBytesIfAskedTo) {
  std::string text = "input a f32[1,2]\n";  // a name that letters come to, too
  std::string last = "a";
  for (int i = 0; i < 60; ++i) {
    const std::string name = "a_rather_long_name_" + std::to_string(i);
    text += "const " + name + ".weight f32[2,2] = random(" + std::to_string(i + 1) + ")\n";
    text += name + " = MatMul(" + last + ", " + name + ".weight)\n";
    last = name;
  }
  const Graph graph = parse(text + "output " + last + "\n");
  const auto readable = to_onnx(graph), compact = to_onnx(graph, {}, {}, Style::kCompact);
  ASSERT_TRUE(readable.ok() && compact.ok());
  EXPECT_LT(compact->size() * 3, readable->size());
  const auto owner = std::make_shared<const File>(*compact);
  const auto model = Model::parse(owner, *owner);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto inputs = declared_inputs(**model);
  ASSERT_TRUE(inputs.ok());
  const auto bound = bind(*model, *inputs);
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  const Graph& read = bound->graph;
  EXPECT_EQ(read[read.inputs()[0]].name, "a");
  EXPECT_EQ(bound->outputs, std::vector<std::string>{last});
  ASSERT_EQ(read.nodes().size(), graph.nodes().size());
  size_t long_names = 0;
  for (size_t i = 0; i < read.nodes().size(); ++i) {
    const auto &was = graph[graph.nodes()[i].inputs[1]], &is = read[read.nodes()[i].inputs[1]];
    ASSERT_TRUE(is.constant && is.type == was.type);
    EXPECT_TRUE(std::ranges::equal(is.constant->bytes(), was.constant->bytes()));
    long_names += is.name.size() > 3 ? 1 : 0;
  }
  EXPECT_LE(long_names, 1u);  // the one that would be called as the input is
}

TEST(Export, WritesTheSameBytesToAFile) {
  const Graph graph =
      parse("input x f32[2,3]\nconst w f32[3,100] = random(1)\ny = Gemm(x, w)\noutput y\n");
  const auto folder = std::filesystem::path(testing::TempDir()) / "shoal_export_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const Status status = write_onnx(graph, folder / "model.onnx");
  ASSERT_TRUE(status.ok()) << status.message();

  std::ifstream file(folder / "model.onnx", std::ios::binary);
  const std::string written(std::istreambuf_iterator<char>(file), {});
  const auto expected = to_onnx(graph);
  ASSERT_TRUE(expected.ok());
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(written)), *expected));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
}

TEST(Export, KeepsProperties) {
  const Graph graph = parse("input x f32[2]\ny = Relu(x)\noutput y\n");
  const Properties properties{{"shoal.exits", "2"}, {"author", ""}, {"any\nkey", "\xff\x01"}};
  const auto written = to_onnx(graph, {}, properties);
  ASSERT_TRUE(written.ok()) << written.status().message();
  const auto owner = std::make_shared<const File>(*written);
  const auto model = Model::parse(owner, *owner);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ((*model)->metadata().properties, properties);
  EXPECT_TRUE(*to_onnx(graph) != *written);
}

// Weights with this percentage of non-zeros.
Tensor with_zeros(int64_t count, int percent) {
  Tensor tensor({DType::kF32, {count, 10}});
  std::mt19937 rng(static_cast<uint32_t>(percent));
  std::uniform_int_distribution<int> draw(0, 99);
  for (float& x : tensor.data<float>())
    x = draw(rng) < percent ? static_cast<float>(draw(rng)) + 1 : 0;
  return tensor;
}

// An index takes 8 bytes and a number 4: from a third on, it is cheaper to write zeros.
TEST(Export, StoresManyZerosAsASparseTensor) {
  for (const int percent : {0, 1, 10, 30, 36, 100}) {
    Graph graph;
    const ValueId x = graph.add_input("x", {DType::kF32, {1, 200}});
    Tensor weights = with_zeros(200, percent);
    if (percent > 0) weights.data<float>()[7] = -0.0F;
    graph.mark_output(*graph.add(ops::mat_mul, {x, graph.add_constant("w", weights)}, {}, "y"));
    const auto dense = to_onnx(graph);
    const auto sparse = to_sparse_onnx(graph);
    ASSERT_TRUE(dense.ok() && sparse.ok());
    EXPECT_EQ(sparse->size() < dense->size(), percent < 33) << percent;
    const auto read = again(*sparse);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, *dense) << percent;
  }
}

TEST(Export, SaysWhichFolderIsMissing) {
  const Status status = write_onnx(Graph(), "no/such/folder/model.onnx");
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("no/such/folder/model.onnx"), std::string::npos);
}

TEST(Export, RefusesOperatorsNewerThanTheOpset) {
  EXPECT_EQ(refusal("input x i32[1]\ny = BitwiseNot(x) @flip\noutput y\n"),
            "flip: operator BitwiseNot is not in ONNX opset 17, which is what we write");
}

TEST(Export, RefusesAttributesNewerThanTheOpset) {
  EXPECT_EQ(refusal("input x f32[1]\ny = Relu(x) slope=1\noutput y\n"),
            "Relu y: attribute slope of Relu is not in ONNX opset 17, which is what we write");
}

TEST(Export, RefusesWhatProtobufCannotRead) {
  // Elements that are not touched: the limit is found before anything is written.
  static const std::byte nothing{};
  const TensorType half_a_gigabyte{DType::kF32, {1 << 27}};
  const auto borrow = [](const void*) {};
  Graph graph;
  ValueId sum = graph.add_input("x", half_a_gigabyte);
  for (int i = 0; i < 4; ++i) {
    const auto owner = std::shared_ptr<const void>(&nothing, borrow);
    const ValueId w = graph.add_constant("w", Tensor::view(half_a_gigabyte, &nothing, owner));
    sum = *graph.add(ops::add, {sum, w});
  }
  graph.mark_output(sum);
  const auto path = std::filesystem::path(testing::TempDir()) / "shoal_too_large.onnx";
  const Status status = write_onnx(graph, path);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_FALSE(std::filesystem::exists(path));
}

// y = x w, in batches of this size.
std::string product(int64_t batch, const char* more = "") {
  return "input x f32[" + std::to_string(batch) +
         ",2]\nconst w f32[2,3] = random(1)\ny = MatMul(x, w)\n" + more + "output y\n";
}

TEST(Export, LeavesTheBatchOpenWhereNothingKnowsIt) {
  const auto path = std::filesystem::temp_directory_path() / "shoal_any_batch.onnx";
  ASSERT_TRUE(write_onnx_for_any_batch(parse(product(1)), parse(product(2)), path).ok());
  const auto model = Model::open(path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  for (int64_t batch : {1, 7}) {
    const auto bound = bind(*model, {{"x", {{DType::kF32, {batch, 2}}, {}}}});
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    EXPECT_EQ(bound->graph[bound->graph.outputs()[0]].type.shape, (Shape{batch, 3}));
  }
  const std::string knows = "const s i64[2] = [-1,1]\nz = Reshape(x, s)\noutput z\n";
  const std::string other = "const s i64[2] = [-1,2]\nz = Reshape(x, s)\noutput z\n";
  EXPECT_EQ(write_onnx_for_any_batch(parse(product(1, knows.c_str())),
                                     parse(product(2, other.c_str())), path)
                .code(),
            Code::kUnsupported);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace shoal::onnx
