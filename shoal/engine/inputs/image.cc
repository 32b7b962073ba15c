// JPEG by libjpeg, PNG by libpng's simplified interface. Files are hostile: their sizes are bounded
// before memory is taken for them.
#include "shoal/engine/inputs/image.h"

#include <png.h>

#include <algorithm>
#include <cctype>
// jpeglib.h needs size_t and FILE declared before it.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "shoal/base/files/file.h"
#include "shoal/engine/inputs/jpeg.h"

namespace shoal {
namespace {

// Whether an image of this size may be in a file of this number of bytes. A few bytes may claim
// gigabytes of one colour, so beyond 32 megapixels (100 MB) the file must have a minimum size:
// photographs have less than ten pixels per byte, drawings less than a hundred.
bool is_plausible(size_t width, size_t height, size_t bytes) {
  constexpr size_t kMaxSide = 1 << 15, kAnyway = 1 << 25, kPixelsPerByte = 256;
  if (width > kMaxSide || height > kMaxSide) return false;
  return width * height <= kAnyway || width * height / kPixelsPerByte <= bytes;
}

Status corrupt(std::string message) { return Status(Code::kCorrupt, std::move(message)); }

// libjpeg reports errors by a call that must not return; a long jump leads out of it.
struct JpegError {
  jpeg_error_mgr manager;
  std::jmp_buf out;
  bool ended = false;  // the file has no more bytes
  char message[JMSG_LENGTH_MAX] = {};
};

[[noreturn]] void on_jpeg_error(j_common_ptr info) {
  auto* error = reinterpret_cast<JpegError*>(info->err);
  info->err->format_message(info, error->message);
  std::longjmp(error->out, 1);
}

// Warnings are printed to stderr by default. Most concern bytes that decoders skip. But if the file
// ends early, pixels are made up: bits are missing in the middle of a scan, or later scans are
// missing.
void on_jpeg_message(j_common_ptr info, int) {
  auto* error = reinterpret_cast<JpegError*>(info->err);
  const auto* jpeg = reinterpret_cast<const jpeg_decompress_struct*>(info);
  const bool several_scans = jpeg->progressive_mode || jpeg->comps_in_scan < jpeg->num_components;
  const int code = info->err->msg_code;
  error->ended = error->ended || code == JWRN_JPEG_EOF;
  if (error->ended && (several_scans || code == JWRN_HIT_MARKER)) on_jpeg_error(info);
}

// As decode_jpeg() below.
bool encode_jpeg(const Tensor& image, int quality, jpeg_compress_struct& jpeg, JpegError& error,
                 unsigned char*& bytes, unsigned long& size) {
  if (setjmp(error.out) != 0) return false;
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_height = static_cast<JDIMENSION>(image.shape()[0]);
  jpeg.image_width = static_cast<JDIMENSION>(image.shape()[1]);
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, quality, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  const uint8_t* const pixels = image.data<uint8_t>().data();
  while (jpeg.next_scanline < jpeg.image_height) {
    // It reads what it takes as writable.
    JSAMPROW line =
        const_cast<JSAMPROW>(pixels + size_t{3} * jpeg.image_width * jpeg.next_scanline);
    jpeg_write_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_compress(&jpeg);
  return true;
}

// No object with a destructor is made between setjmp and the jump.
bool decode_jpeg(std::span<const std::byte> bytes, jpeg_decompress_struct& jpeg, JpegError& error,
                 std::vector<uint8_t>& pixels) {
  if (setjmp(error.out) != 0) return false;
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
  // Other colour spaces become RGB, or are an error where libjpeg has no conversion.
  jpeg.out_color_space = jpeg.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_calc_output_dimensions(&jpeg);
  if (!is_plausible(jpeg.output_width, jpeg.output_height, bytes.size())) {
    std::strcpy(error.message, "image is too large for its file");
    return false;
  }
  jpeg_start_decompress(&jpeg);
  const size_t row = size_t{jpeg.output_width} * static_cast<size_t>(jpeg.output_components);
  pixels.resize(row * jpeg.output_height);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW line = pixels.data() + row * jpeg.output_scanline;
    jpeg_read_scanlines(&jpeg, &line, 1);
  }
  return true;
}

Result<Tensor> parse_jpeg(std::span<const std::byte> bytes) {
  jpeg_decompress_struct jpeg{};
  JpegError error;
  jpeg.err = jpeg_std_error(&error.manager);
  error.manager.error_exit = on_jpeg_error;
  error.manager.emit_message = on_jpeg_message;
  std::vector<uint8_t> pixels;
  const bool ok = decode_jpeg(bytes, jpeg, error, pixels);
  const Shape shape{jpeg.output_height, jpeg.output_width, jpeg.output_components};
  jpeg_destroy_decompress(&jpeg);
  if (!ok) return corrupt(std::string("JPEG: ") + error.message);
  return Tensor::of<uint8_t>(shape, pixels);
}

Result<Tensor> parse_png(std::span<const std::byte> bytes) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0) {
    return corrupt(std::string("PNG: ") + png.message);
  }
  if (!is_plausible(png.width, png.height, bytes.size())) {
    png_image_free(&png);
    return corrupt("PNG: image is too large for its file");
  }
  const bool grey = (png.format & PNG_FORMAT_FLAG_COLOR) == 0;
  png.format = grey ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Tensor image({DType::kU8, {png.height, png.width, grey ? 1 : 3}});
  // Transparency is put on black.
  const png_color black{};
  if (png_image_finish_read(&png, &black, image.bytes().data(), 0, nullptr) == 0) {
    return corrupt(std::string("PNG: ") + png.message);
  }
  return image;
}

}  // namespace

// The first bytes decide, not the extension.
Result<Tensor> parse_image(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\xff\xd8")) return parse_jpeg(bytes);
  if (text.starts_with("\x89PNG")) return parse_png(bytes);
  return Status(Code::kUnsupported, "neither a JPEG nor a PNG image");
}

Result<std::string> to_jpeg(const Tensor& image, int quality) {
  jpeg_compress_struct jpeg{};
  JpegError error;
  jpeg.err = jpeg_std_error(&error.manager);
  error.manager.error_exit = on_jpeg_error;
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const bool ok = encode_jpeg(image, quality, jpeg, error, bytes, size);
  jpeg_destroy_compress(&jpeg);
  std::string file(reinterpret_cast<const char*>(bytes), ok ? size : 0);
  std::free(bytes);
  if (!ok) return Status(Code::kExhausted, std::string("JPEG: ") + error.message);
  return file;
}

Result<Tensor> read_image(const std::filesystem::path& path) {
  SHOAL_ASSIGN(auto file, MappedFile::open(path));
  auto image = parse_image(file->bytes());
  if (!image.ok()) return image.status().at(path.string());
  return image;
}

bool is_image_file(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

}  // namespace shoal
