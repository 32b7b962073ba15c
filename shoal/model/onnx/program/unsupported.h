// Collects all operators of a model that are not supported, so that one message names them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::onnx {

class Unsupported {
 public:
  // `opset`: the one whose form of the operator is not known; 0: none is supported.
  void add(std::string_view domain, std::string_view op, std::string node, int64_t opset = 0);

  // OK if there were none, else one line: "Foo (node a, b), my.domain.Bar (node c)".
  Status status() const;

 private:
  struct Users {
    std::vector<std::string> nodes;
    size_t more = 0;  // nodes beyond kMaxNodes
  };
  std::map<std::string, Users> operators_;
  size_t more_operators_ = 0;
};

}  // namespace shoal::onnx
