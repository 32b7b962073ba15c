#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
// clang-format off
#include <jpeglib.h>  // needs size_t and FILE
// clang-format on

#include "shoal/base/files/temporary_folder.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/engine/inputs/input_files.h"
#include "shoal/engine/inputs/jpeg.h"
#include "shoal/engine/inputs/npy.h"
#include "shoal/train/data/dataset.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

class Data : public testing::Test {
 protected:
  void write(const fs::path& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  void write_gzip(const fs::path& name, const std::string& bytes) {
    gzFile file = gzopen((folder_ / name).c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
  }
  const Result<TemporaryFolder> temporary_ = TemporaryFolder::make();
  const fs::path folder_ = temporary_->path();
};

TEST_F(Data, NpyGivesBackWhatWasWritten) {
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 0}, Shape{2, 3, 4}}) {
    for (DType dtype : {DType::kF32, DType::kI16, DType::kU8, DType::kF16, DType::kBool}) {
      visit<AllTypes>(dtype, [&]<class T>() {
        Tensor tensor({kDTypeOf<T>, shape});
        for (size_t i = 0; i < tensor.data<T>().size(); ++i)
          tensor.data<T>()[i] = static_cast<T>(static_cast<Compute<T>>(i));
        ASSERT_TRUE(write_npy(folder_ / "x.npy", tensor).ok());
        auto read = read_npy(folder_ / "x.npy");
        ASSERT_TRUE(read.ok()) << read.status().message();
        EXPECT_EQ(read->type(), tensor.type());
        EXPECT_TRUE(std::ranges::equal(read->bytes(), tensor.bytes()));
      });
    }
  }
}

TEST_F(Data, NpyThatLiesIsRefused) {
  const std::string magic = std::string("\x93NUMPY\x01\x00", 8);
  auto with_header = [&](std::string header, const std::string& elements) {
    std::string bytes = magic;
    bytes += static_cast<char>(header.size() & 255);
    bytes += static_cast<char>(header.size() >> 8);
    bytes += header + elements;
    return parse_npy(std::as_bytes(std::span(bytes)));
  };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  EXPECT_TRUE(with_header(good, std::string(8, '\0')).ok());
  EXPECT_FALSE(with_header(good, std::string(7, '\0')).ok());
  EXPECT_FALSE(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "").ok());
  EXPECT_FALSE(
      with_header(
          "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999,9999999999), }", "")
          .ok());
  EXPECT_FALSE(with_header("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", "").ok());
  EXPECT_FALSE(with_header("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", "").ok());
  const std::string bools = "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }";
  EXPECT_TRUE(with_header(bools, std::string("\x01\x00", 2)).ok());
  EXPECT_FALSE(with_header(bools, std::string("\x01\x02", 2)).ok());
  EXPECT_FALSE(with_header("{", "").ok());
  EXPECT_FALSE(parse_npy({}).ok());
  for (size_t n = 0; n < magic.size(); ++n) {
    EXPECT_FALSE(parse_npy(std::as_bytes(std::span(magic)).first(n)).ok());
  }
}

TEST_F(Data, ImagesThatAreNoneAreRefused) {
  write("a.jpg", "\xff\xd8 no more");
  write("b.png", "\x89PNG\r\n\x1a\n no more");
  write("c.gif", "GIF89a");
  for (const char* name : {"a.jpg", "b.png", "c.gif", "absent.png"}) {
    EXPECT_FALSE(read_image(folder_ / name).ok()) << name;
  }
}

Tensor gradient(int64_t h, int64_t w, int64_t c) {
  Tensor image({DType::kU8, {h, w, c}});
  for (int64_t i = 0; i < h * w * c; ++i) {
    image.data<uint8_t>()[static_cast<size_t>(i)] = static_cast<uint8_t>(i / c % w * 10 + i % c);
  }
  return image;
}

std::string jpeg_of(const Tensor& image, bool progressive) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr error;
  jpeg.err = jpeg_std_error(&error);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_height = static_cast<JDIMENSION>(image.shape()[0]);
  jpeg.image_width = static_cast<JDIMENSION>(image.shape()[1]);
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  if (progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = const_cast<uint8_t*>(image.data<uint8_t>().data()) +
                   size_t{jpeg.next_scanline} * jpeg.image_width * 3;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string text(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return text;
}

TEST_F(Data, JpegsThatEndEarlyAreRefused) {
  const auto parse = [](const std::string& bytes) {
    return parse_image(std::as_bytes(std::span(bytes)));
  };
  for (const bool progressive : {false, true}) {
    const std::string whole = jpeg_of(gradient(40, 40, 3), progressive);
    const auto image = parse(whole);
    ASSERT_TRUE(image.ok()) << image.status().message();
    EXPECT_EQ(image->shape(), (Shape{40, 40, 3}));
    for (size_t size = 2; size < whole.size() - 2; ++size) {
      EXPECT_EQ(parse(whole.substr(0, size)).status().code(), Code::kCorrupt) << size;
    }
    // Without the marker of its end no pixel is missing, if nothing else could have followed.
    EXPECT_EQ(parse(whole.substr(0, whole.size() - 2)).ok(), !progressive);
  }
}

TEST_F(Data, WhatIsWrittenAsAJpegLooksTheSame) {
  const Tensor image = gradient(24, 20, 3);
  const auto bytes = to_jpeg(image, 95);
  ASSERT_TRUE(bytes.ok());
  const auto read = parse_image(std::as_bytes(std::span(*bytes)));
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->shape(), image.shape());
  for (size_t i = 0; i < image.data<uint8_t>().size(); ++i) {
    EXPECT_NEAR(read->data<uint8_t>()[i], image.data<uint8_t>()[i], 12) << i;
  }
}

// A size in the header of a small file, of which nothing but the header is there.
std::string png_header(uint32_t width, uint32_t height) {
  const auto number = [](uint32_t x) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(x >> shift);
    return text;
  };
  const std::string chunk =
      "IHDR" + number(width) + number(height) + std::string("\x08\0\0\0\0", 5);
  const auto check =
      crc32(0, reinterpret_cast<const Bytef*>(chunk.data()), static_cast<unsigned>(chunk.size()));
  return "\x89PNG\r\n\x1a\n" + number(13) + chunk + number(static_cast<uint32_t>(check)) +
         number(1) + "IDAT";
}

TEST_F(Data, ImagesFarLargerThanTheirFilesAreRefused) {
  const auto error_of = [](const std::string& bytes) {
    return std::string(parse_image(std::as_bytes(std::span(bytes))).status().message());
  };
  const std::string large = "image is too large for its file";
  EXPECT_EQ(error_of(png_header(8192, 8192)), "PNG: " + large);
  EXPECT_EQ(error_of(png_header(40000, 1)), "PNG: " + large) << "in any file";
  EXPECT_EQ(error_of(png_header(8, 8)).find(large), std::string::npos);
  EXPECT_EQ(error_of(png_header(8192, 8192) + std::string(8192 * 8192 / 256, 'x')).find(large),
            std::string::npos);
  for (const bool progressive : {false, true}) {
    std::string jpeg = jpeg_of(gradient(40, 40, 3), progressive);
    const size_t frame = jpeg.find(progressive ? "\xff\xc2" : "\xff\xc0");
    ASSERT_NE(frame, jpeg.npos);
    jpeg.replace(frame + 5, 4, std::string("\x20\0\x20\0", 4));
    EXPECT_EQ(error_of(jpeg), "JPEG: " + large);
  }
}

TEST_F(Data, ResizingAConstantKeepsIt) {
  Tensor image({DType::kU8, {7, 5, 3}});
  std::ranges::fill(image.data<uint8_t>(), uint8_t{77});
  for (int64_t side : {3, 5, 11}) {
    const Tensor resized = resize_image(image, side, side + 1);
    EXPECT_TRUE(std::ranges::all_of(resized.data<uint8_t>(), [](uint8_t x) { return x == 77; }));
  }
}

// Sums of Pillow's results, each byte times its place.
TEST_F(Data, ResizingGivesTheBytesOfPillow) {
  Tensor image({DType::kU8, {7, 9, 3}});
  for (int64_t i = 0; i < 7 * 9; ++i) {
    const int64_t x = i % 9, y = i / 9;
    const int64_t values[] = {x * 37 + y * 53, x * x * 11 + y * 7, x * 91 + y * y * 29};
    for (int64_t c = 0; c < 3; ++c) {
      image.data<uint8_t>()[static_cast<size_t>(3 * i + c)] = static_cast<uint8_t>(values[c]);
    }
  }
  const auto sum_of = [&](int64_t height, int64_t width) {
    const Tensor resized = resize_image(image, height, width);
    int64_t sum = 0, place = 0;
    for (const uint8_t byte : resized.data<uint8_t>()) sum += ++place * byte;
    return sum;
  };
  EXPECT_EQ(sum_of(3, 4), 83279);
  EXPECT_EQ(sum_of(10, 13), 9600395);
}

TEST_F(Data, PreprocessingCutsTheCentreAndNormalises) {
  const Tensor image = gradient(4, 6, 3);
  auto x = preprocess(image, {.crop = 2, .mean = {0.5f}, .std = {0.25f}}, 2, 2);
  ASSERT_TRUE(x.ok()) << x.status().message();
  EXPECT_EQ(x->shape(), (Shape{1, 3, 2, 2}));
  EXPECT_FLOAT_EQ(x->data<float>()[0], (20.0f / 255 - 0.5f) / 0.25f);  // column (6 - 2) / 2
  auto flipped = preprocess(image, {.crop = 2, .bgr = true, .nhwc = true}, 2, 2);
  ASSERT_TRUE(flipped.ok());
  EXPECT_EQ(flipped->shape(), (Shape{1, 2, 2, 3}));
  EXPECT_FLOAT_EQ(flipped->data<float>()[0], 22.0f / 255);
}

TEST_F(Data, PreprocessingRefusesWhatDoesNotFit) {
  const Tensor image = gradient(4, 6, 3);
  EXPECT_FALSE(preprocess(image, {}, 5, 5).ok());
  EXPECT_FALSE(preprocess(image, {.crop = 5}, 5, 5).ok());
  EXPECT_FALSE(preprocess(image, {.stretch = true, .mean = {1, 2}}, 5, 5).ok());
  EXPECT_FALSE(preprocess(image, {.stretch = true, .std = {0}}, 5, 5).ok());
  EXPECT_TRUE(preprocess(image, {.stretch = true}, 5, 5).ok());
  EXPECT_FALSE(preprocess(image, {.resize = int64_t{1} << 40}, 0, 0).ok());
  EXPECT_FALSE(preprocess(gradient(1, 32768, 1), {.resize = 16, .crop = 16}, 16, 16).ok());
  EXPECT_TRUE(preprocess(gradient(1, 32768, 1), {.resize = 1, .crop = 1}, 1, 1).ok());
  EXPECT_FALSE(preprocess(gradient(4, 6, 2), {.channels = 3}, 0, 0).ok());
  EXPECT_TRUE(preprocess(gradient(4, 6, 2), {}, 0, 0).ok());
  EXPECT_FALSE(preprocess(Tensor({DType::kU8, {0, 6, 3}}), {.resize = 5}, 0, 0).ok());
  EXPECT_FALSE(preprocess(Tensor({DType::kF32, {4, 6, 3}}), {}, 0, 0).ok());
}

TEST_F(Data, ImagesBecomeWhatAnInputDeclares) {
  const Tensor image = gradient(4, 6, 3);
  const auto shape_for = [&](std::vector<int64_t> dims, Preprocess preprocess) {
    const auto x = image_for_input(image, dims, preprocess);
    return x.ok() ? x->shape() : Shape{};
  };
  EXPECT_EQ(shape_for({1, 3, 4, 6}, {}), (Shape{1, 3, 4, 6}));
  EXPECT_EQ(shape_for({-1, 1, -1, -1}, {}), (Shape{1, 1, 4, 6}));  // made grey
  EXPECT_EQ(shape_for({1, 2, 2, 3}, {.crop = 2}), (Shape{1, 2, 2, 3}));
  EXPECT_EQ(shape_for({1, 3, 2, 3}, {.stretch = true}), (Shape{1, 3, 2, 3}));
  EXPECT_EQ(shape_for({1, -1, 4, 6}, {.channels = 1}), (Shape{1, 1, 4, 6}));
  EXPECT_EQ(shape_for({-1, 72}, {}), (Shape{1, 72}));  // one row
  EXPECT_FALSE(image_for_input(image, std::vector<int64_t>{1, 3, 5, 6}, {}).ok());
}

TEST_F(Data, ImageFilesAreKnownByTheirExtension) {
  EXPECT_TRUE(is_image_file("a/b.JPG") && is_image_file("b.jpeg") && is_image_file("c.png"));
  EXPECT_FALSE(is_image_file("b.npy") || is_image_file("png") || is_image_file("png/x"));
}

TEST_F(Data, PresetsAreFoundByName) {
  ASSERT_TRUE(find_preset("imagenet"));
  EXPECT_EQ(find_preset("imagenet")->crop, 224);
  EXPECT_EQ(find_preset("imagenet")->mean.size(), 3u);
  EXPECT_EQ(find_preset("digits")->channels, 1);
  EXPECT_TRUE(find_preset("yolo")->stretch);
  EXPECT_FALSE(find_preset("unknown"));
}

TEST_F(Data, InputFilesAreSortedAndSpreadOverAll) {
  std::filesystem::create_directories(folder_ / "sub");
  for (const char* name : {"c.npy", "a.npy", "sub/d.npy", "b.txt"}) write(name, "");
  const auto all = list_input_files(folder_, 10);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(*all, (std::vector{folder_ / "a.npy", folder_ / "c.npy", folder_ / "sub/d.npy"}));
  for (const char* name : {"e.npy", "f.npy", "g.npy"}) write(name, "");
  const auto some = list_input_files(folder_, 2);
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(*some, (std::vector{folder_ / "a.npy", folder_ / "f.npy"}));
  EXPECT_EQ(list_input_files(folder_ / "absent", 2).status().code(), Code::kNotFound);
}

// Descriptors run out where the folder inside is opened: not even root can read it.
TEST_F(Data, InputFilesInAFolderThatCannotBeReadAreAnError) {
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
  GTEST_SKIP() << "the sanitizer looks at objects through a pipe, which needs a descriptor";
#endif
#endif
  fs::create_directories(folder_ / "sub");
  write("sub/a.npy", "");
  const int next = ::open("/dev/null", O_RDONLY);
  ::close(next);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit one_more{static_cast<rlim_t>(next) + 1, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &one_more);
  const auto files = list_input_files(folder_, 2);
  const auto data = open_dataset(folder_, "folder");
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(files.ok());
  EXPECT_TRUE(data.ok());  // one folder at a time
}

TEST_F(Data, LinksToThemselvesAreNoFiles) {
  for (const char* name :
       {"train", "test", "labels.txt", "images.npy", "t10k-images-idx3-ubyte", "test_batch.bin"}) {
    fs::create_symlink(name, folder_ / name);
  }
  for (const char* format : {"idx", "cifar", "npy", "folder"}) {
    EXPECT_EQ(open_dataset(folder_, format).status().code(), Code::kNotFound) << format;
  }
}

TEST_F(Data, InputFilesAreReadAsTheInputTakesThem) {
  ASSERT_TRUE(write_npy(folder_ / "bits.npy", Tensor::of<uint16_t>({2}, {0x3f80, 0x4000})).ok());
  const std::vector<int64_t> dims = {2};
  const auto real = read_input_file(folder_ / "bits.npy", DType::kBF16, dims, {});
  ASSERT_TRUE(real.ok());
  ASSERT_EQ(real->dtype(), DType::kBF16);
  EXPECT_EQ(static_cast<float>(real->data<BFloat16>()[1]), 2);
  EXPECT_EQ(read_input_file(folder_ / "bits.npy", DType::kU16, dims, {})->dtype(), DType::kU16);
  EXPECT_FALSE(read_input_file(folder_ / "absent.npy", DType::kF32, dims, {}).ok());
  EXPECT_FALSE(read_input_file(folder_ / "absent.png", DType::kF32, dims, {}).ok());
}

std::string idx_images() {
  return std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02", 16) + "abcd";
}
std::string idx_labels() { return std::string("\0\0\x08\x01\0\0\0\x02", 8) + "\x03\x04"; }

TEST_F(Data, IdxFilesReadPlainAndPacked) {
  write("t10k-images-idx3-ubyte", idx_images());
  write_gzip("t10k-labels-idx1-ubyte.gz", idx_labels());
  auto data = open_dataset(folder_, "idx");
  ASSERT_TRUE(data.ok()) << data.status().message();
  ASSERT_EQ((*data)->size(), 2u);
  auto second = (*data)->at(1);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->label, 4);
  EXPECT_EQ(second->image.shape(), (Shape{1, 2, 1}));
  EXPECT_EQ(second->image.data<uint8_t>()[1], 'd');
}

TEST_F(Data, IdxFilesThatLieAreRefused) {
  write("t10k-labels-idx1-ubyte", idx_labels());
  write("t10k-images-idx3-ubyte", idx_images() + "x");
  EXPECT_EQ(open_dataset(folder_, "idx").status().code(), Code::kCorrupt);
  write("t10k-images-idx3-ubyte", "junk");
  EXPECT_EQ(open_dataset(folder_, "idx").status().code(), Code::kCorrupt);
  // Two images of no height.
  write("t10k-images-idx3-ubyte", std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\0\0\0\0\x02", 16));
  EXPECT_EQ(open_dataset(folder_, "idx").status().code(), Code::kCorrupt);
  EXPECT_EQ(open_dataset(folder_ / "absent", "idx").status().code(), Code::kNotFound);
  EXPECT_EQ(open_dataset(folder_, "parquet").status().code(), Code::kInvalidArgument);
}

TEST_F(Data, FilesThatUnpackToFarMoreThanTheirSizeAreRefused) {
  write("t10k-labels-idx1-ubyte", idx_labels());
  write_gzip("t10k-images-idx3-ubyte.gz", std::string(size_t{65} << 20, '\0'));
  const Status status = open_dataset(folder_, "idx").status();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("unpacks to more than 64 MB"), std::string::npos)
      << status.message();
}

TEST_F(Data, CifarRecordsHoldPlanes) {
  std::string record(1, '\x07');
  for (int plane = 0; plane < 3; ++plane)
    record += std::string(1024, static_cast<char>('a' + plane));
  write("test_batch.bin", record);
  auto data = open_dataset(folder_, "cifar");
  ASSERT_TRUE(data.ok()) << data.status().message();
  auto only = (*data)->at(0);
  EXPECT_EQ(only->label, 7);
  EXPECT_EQ(only->image.data<uint8_t>()[1], 'b');  // green of the first pixel
  write("test_batch.bin", record + "x");
  EXPECT_FALSE(open_dataset(folder_, "cifar").ok());
}

TEST_F(Data, SplitsAreKeptApart) {
  write("train-images-idx3-ubyte", idx_images());
  write("train-labels-idx1-ubyte", idx_labels());
  EXPECT_TRUE(open_dataset(folder_, "idx", Split::kTraining).ok());
  EXPECT_TRUE(open_dataset(folder_, "idx", Split::kAny).ok());
  EXPECT_EQ(open_dataset(folder_, "idx", Split::kHeldOut).status().code(), Code::kNotFound);
  fs::create_directories(folder_ / "train" / "cat");
  write("train/cat/a.png", "");
  EXPECT_EQ((*open_dataset(folder_, "folder", Split::kTraining))->place(0),
            (folder_ / "train" / "cat" / "a.png").string());
  EXPECT_EQ(open_dataset(folder_, "folder", Split::kHeldOut).status().code(), Code::kNotFound);
}

TEST_F(Data, LabelsThatAreMissingAreNamed) {
  write("train-images-idx3-ubyte", idx_images());
  const Status status = open_dataset(folder_, "idx", Split::kTraining).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("train-labels-idx1-ubyte"), std::string::npos);
}

TEST_F(Data, FilesThatEndEarlyGiveWhatIsWhole) {
  write("t10k-images-idx3-ubyte", idx_images().substr(0, 19));
  write("t10k-labels-idx1-ubyte", idx_labels());
  EXPECT_EQ(open_dataset(folder_, "idx").status().code(), Code::kCorrupt);
  auto data = open_dataset(folder_, "idx", Split::kAny, Damaged::kSkip);
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ((*data)->size(), 1u);
  ASSERT_EQ((*data)->damage().size(), 1u);
  EXPECT_NE((*data)->damage()[0].find("idx3-ubyte at byte 19: "), std::string::npos);
  write("data_batch_1.bin", std::string(3073, 'a'));
  write("data_batch_2.bin", std::string(3073 + 5, 'b'));
  EXPECT_FALSE(open_dataset(folder_, "cifar", Split::kTraining).ok());
  data = open_dataset(folder_, "cifar", Split::kTraining, Damaged::kSkip);
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ((*data)->size(), 2u);
  EXPECT_EQ((*data)->place(1), (folder_ / "data_batch_2.bin").string() + " at byte 0");
}

TEST_F(Data, ArraysAreImagesAndLabels) {
  const Tensor images = Tensor::of<uint8_t>({2, 1, 2}, {1, 2, 3, 4});
  ASSERT_TRUE(write_npy(folder_ / "images.npy", images).ok());
  EXPECT_EQ(open_dataset(folder_, "npy", Split::kTraining).status().code(), Code::kNotFound);
  ASSERT_TRUE(write_npy(folder_ / "labels.npy", Tensor::of<int32_t>({2}, {5, 6})).ok());
  auto data = open_dataset(folder_, "npy", Split::kTraining);
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ((*data)->at(1)->label, 6);
  EXPECT_EQ((*data)->at(1)->image.data<uint8_t>()[0], 3);
  ASSERT_TRUE(write_npy(folder_ / "labels.npy", Tensor::of<int32_t>({1}, {5})).ok());
  EXPECT_EQ(open_dataset(folder_, "npy", Split::kTraining).status().code(), Code::kCorrupt);
}

TEST_F(Data, FoldersAreReadByLabelFile) {
  write("labels.txt", "a.png 3 a name\nb.png 5\n");
  auto data = open_dataset(folder_, "folder");
  ASSERT_TRUE(data.ok());
  EXPECT_EQ((*data)->size(), 2u);
  EXPECT_FALSE((*data)->at(0).ok());  // a.png is not there
  write("labels.txt", "a.png\n");
  EXPECT_EQ(open_dataset(folder_, "folder").status().code(), Code::kCorrupt);
}

TEST_F(Data, LabelFilesNameNothingOutsideTheirFolder) {
  for (const char* line : {"../a.png 1\n", "/etc/a.png 1\n", "sub/../../a.png 1\n", " 1\n"}) {
    write("labels.txt", line);
    const Status status = open_dataset(folder_, "folder").status();
    EXPECT_EQ(status.code(), Code::kCorrupt) << line;
    EXPECT_NE(status.message().find("line 1 names a file outside"), std::string::npos) << line;
  }
  write("labels.txt", "sub/a..png 1\n");
  EXPECT_TRUE(open_dataset(folder_, "folder").ok());
}

}  // namespace
}  // namespace shoal
