// The JSON of headers of files, small settings and requests, read from the beginning on without a
// document in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "shoal/base/status.h"

namespace shoal {

// A text with its quotes, escaped.
std::string json_text(std::string_view text);

// A number, with as many digits as it takes to read it back; null if it is infinite or no number.
std::string json_number(double number);

// Reads from front to back; each call takes one item or reports an error.
class JsonText {
 public:
  // Errors begin with `what` the text is.
  explicit JsonText(std::string_view text, std::string what = "header")
      : rest_(text), size_(text.size()), what_(std::move(what)) {}

  // Calls member(key) for each, which reads its value. A key that comes twice is refused.
  Status object(const std::function<Status(const std::string& key)>& member);
  Result<std::string> text();
  Result<bool> boolean();
  Result<int64_t> integer();
  Status integers(std::vector<int64_t>& list);  // appends
  Status numbers(std::vector<double>& list);    // appends
  // A number that a T can hold, without loss where T is an integer. Of all arithmetic types but
  // bool.
  template <class T>
  Status number(T& value) {
    return number(value, std::is_integral_v<T> ? "an integer" : "a number");
  }
  // Calls element() for each element of a list, which reads it.
  Status list(const std::function<Status()>& element);
  // The same for the innermost elements of lists in lists, row by row.
  Status nested_list(const std::function<Status()>& element, size_t depth = 16);
  Status skip(size_t depth = 64);  // takes any value; lists and objects nest no deeper
  Status end();                    // nothing but space is left

  bool next_is(char c);                         // after space
  size_t left() const { return rest_.size(); }  // bytes

 private:
  void skip_space();
  bool take(char c);
  Status expected(std::string_view what) const;
  Result<char32_t> escape();
  Result<char32_t> hexadecimal();
  template <class Number>
  Status number(Number& value, std::string_view what);
  template <class Number>
  Status list_of(std::vector<Number>& list, std::string_view what);

  std::string_view rest_;
  size_t size_;
  std::string what_;
};

}  // namespace shoal
