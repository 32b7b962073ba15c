// AlignedBody: the body of an HTTP message, for Boost.Beast's parser. Bytes are copied once, from
// the connection's buffer, to where tensors can view them: the first byte after the JSON of a
// binary message is aligned.
#pragma once

#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional.hpp>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "shoal/base/machine/pages.h"
#include "shoal/serve/protocol/infer.h"

namespace shoal::serve {

inline constexpr std::string_view kJsonBytesHeader = "Inference-Header-Content-Length";

// Memory that is not touched before bytes arrive, so that a large Content-Length alone costs none.
class AlignedBytes {
 public:
  // The byte at `aligned` will be at a multiple of kAlignment.
  void align(size_t aligned) { gap_ = (kAlignment - aligned % kAlignment) % kAlignment; }

  void reserve(size_t size) {
    if (size + gap_ <= capacity_) return;
    const size_t blocks = (size + gap_ + kAlignment - 1) / kAlignment + 1;
    std::shared_ptr<std::byte> larger = allocate(blocks * kAlignment);
    if (size_ > 0) std::memcpy(larger.get() + gap_, memory_.get() + gap_, size_);
    memory_ = std::move(larger);
    capacity_ = blocks * kAlignment;
  }

  void append(const void* bytes, size_t size) {
    if (size_ + size + gap_ > capacity_) reserve(2 * (size_ + size));
    std::memcpy(memory_.get() + gap_ + size_, bytes, size);
    size_ += size;
  }

  size_t size() const { return size_; }

  Body take(std::optional<size_t> json_bytes) {
    if (memory_ == nullptr) reserve(1);
    return {std::span<const std::byte>(memory_.get() + gap_, size_), memory_, json_bytes};
  }

 private:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kLarge = 256 * 1024;

  // Large ones are given back to the system when they are freed: after a burst, a heap would keep
  // what hundreds of them have used.
  static std::shared_ptr<std::byte> allocate(size_t size) {
    if (size >= kLarge) {
      return {static_cast<std::byte*>(allocate_pages(size)),
              [size](std::byte* memory) { free_pages(memory, size); }};
    }
    void* const memory = std::aligned_alloc(kAlignment, size);
    if (memory == nullptr) throw std::bad_alloc();
    return {static_cast<std::byte*>(memory), std::free};
  }

  size_t gap_ = 0;
  size_t size_ = 0;
  size_t capacity_ = 0;
  std::shared_ptr<std::byte> memory_;
};

struct AlignedBody {
  struct value_type {
    AlignedBytes bytes;
    std::optional<size_t> json_bytes;
  };

  class reader {
   public:
    // The header is read by the time of init(). Beast tries this with another type, too.
    template <bool isRequest, class Fields>
    reader(boost::beast::http::header<isRequest, Fields>& header, value_type& body) : body_(body) {
      if constexpr (std::is_same_v<Fields, boost::beast::http::fields>) fields_ = &header;
    }

    void init(const boost::optional<uint64_t>& length, boost::beast::error_code& error) {
      error = {};
      const auto it = fields_->find(kJsonBytesHeader);
      if (it != fields_->end()) {
        const std::string_view text(it->value().data(), it->value().size());
        const char* const last = text.data() + text.size();
        size_t size = 0;
        const auto [end, failure] = std::from_chars(text.data(), last, size);
        if (failure != std::errc() || end != last) error = boost::beast::http::error::bad_value;
        body_.json_bytes = size;
        body_.bytes.align(size);
      }
      if (!error && length) body_.bytes.reserve(*length);
    }

    template <class Buffers>
    size_t put(const Buffers& buffers, boost::beast::error_code& error) {
      error = {};
      size_t size = 0;
      for (const auto buffer : boost::beast::buffers_range_ref(buffers)) {
        body_.bytes.append(buffer.data(), buffer.size());
        size += buffer.size();
      }
      return size;
    }

    void finish(boost::beast::error_code& error) { error = {}; }

   private:
    const boost::beast::http::fields* fields_ = nullptr;
    value_type& body_;
  };
};

}  // namespace shoal::serve
