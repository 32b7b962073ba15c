#include "shoal/train/data/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "shoal/base/files/temporary_folder.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

class Safetensors : public testing::Test {
 protected:
  std::string read() {
    std::ifstream file(folder_ / "x", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const Result<TemporaryFolder> temporary_ = TemporaryFolder::make();
  const fs::path folder_ = temporary_->path();
};

Result<TensorFile> parse(const std::string& bytes) {
  return parse_safetensors(std::as_bytes(std::span(bytes)));
}

std::string with_header(const std::string& header, const std::string& elements) {
  const auto length = static_cast<uint64_t>(header.size());
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + elements;
}

TensorFile sample() {
  TensorFile file;
  file.tensors["weights \"of\"\n\x01 layer\\1"] = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  file.tensors["empty"] = Tensor({DType::kI64, {0, 4}});
  file.tensors["a scalar"] = Tensor::of<int64_t>({}, {-7});
  file.tensors["truth"] = Tensor::of<uint8_t>({3}, {1, 2, 3});
  file.metadata = {{"step", "17"}, {"text", "{\"a\": [1, \"b\"]}\t\xc3\xa9"}};
  return file;
}

TEST_F(Safetensors, GiveBackWhatWasWritten) {
  const TensorFile file = sample();
  ASSERT_TRUE(write_safetensors(folder_ / "x", file).ok());
  const auto read = read_safetensors(folder_ / "x");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->metadata, file.metadata);
  ASSERT_EQ(read->tensors.size(), file.tensors.size());
  for (const auto& [name, tensor] : file.tensors) {
    EXPECT_EQ(read->tensors.at(name).type(), tensor.type());
    EXPECT_TRUE(std::ranges::equal(read->tensors.at(name).bytes(), tensor.bytes()));
  }
}

TEST_F(Safetensors, KnowEveryDamagedByte) {
  ASSERT_TRUE(write_safetensors(folder_ / "x", sample()).ok());
  const std::string good = read();
  ASSERT_TRUE(parse(good).ok() && parse(good)->checked);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    const auto read = parse(bad);  // without the name of the checksum, there is none
    EXPECT_FALSE(read.ok() && read->checked) << "byte " << i;
    EXPECT_FALSE(parse(good.substr(0, i)).ok()) << "cut at " << i;
  }
}

TEST(SafetensorsOfOthers, AreReadWithoutChecksum) {
  const auto file = parse(with_header(
      R"( {"w" : {"shape":[1, 2],"data_offsets":[0,4] , "dtype":"U16"}, "\u00e9\/":{"dtype":"I8","shape":[],"data_offsets":[4,5]}}  )",
      "abcde"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->tensors.at("w").shape(), (Shape{1, 2}));
  EXPECT_EQ(file->tensors.at("\xc3\xa9/").data<int8_t>()[0], 'e');
}

TEST(SafetensorsOfOthers, ThatLieAreRefused) {
  for (
      const char* header : {
          R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,5]}})",  // not its size
          R"({"w":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})",  // a rest
          R"({"w":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})",  // a gap
          R"({"w":{"dtype":"U8","shape":[-4],"data_offsets":[0,-4]}})",
          R"({"w":{"dtype":"U8","shape":[9223372036854775807,2],"data_offsets":[0,-2]}})",
          R"({"w":{"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,4]}})",
          R"({"w":{"dtype":"U3","shape":[4],"data_offsets":[0,4]}})",
          R"({"w":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]}})",  // neither 0 nor 1
          R"({"w":{"shape":[4],"data_offsets":[0,4]}})",
          R"({"w":{"dtype":"U8","shape":[4]}})",
          R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4,5]}})",
          R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"more":[]}})",
          R"({"w":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,4],"data_offsets":[0,4]}})",
          R"({"v":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
          R"("w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",  // overlap
          R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
          R"("w":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",  // twice
          R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})",
          "{",
          "[]",
          "",
          "{\"\\ud800\"",
          R"({"__metadata__":{"shoal.checksum":"?"},"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
      }) {
    EXPECT_FALSE(parse(with_header(header, "abcd")).ok()) << header;
  }
  EXPECT_FALSE(parse(std::string(8, '\xff')).ok());
  EXPECT_FALSE(parse("abc").ok());
}

}  // namespace
}  // namespace shoal
