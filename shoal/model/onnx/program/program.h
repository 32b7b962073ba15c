// Program: a model with its names resolved. Every value is a slot, functions are inlined, and each
// step lists the slots that it reads and writes. Steps are still ONNX operators of any opset,
// without types: those come in bind.h. Names point into the bytes of the file, which must outlive
// it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/operator.h"
#include "shoal/model/onnx/format/constant.h"
#include "shoal/model/onnx/format/proto.h"
#include "shoal/model/onnx/format/slot.h"
#include "shoal/model/onnx/format/tensors.h"

namespace shoal::onnx {

// A name in the file, and the inlined call it occurs in.
struct Name {
  std::string_view text;
  int32_t call = -1;  // index into Program::calls; -1: the model's own graph
};

struct Step;

// The graph itself, a branch of an If, or the body of a Loop or Scan.
struct Block {
  std::vector<Slot> inputs;  // of a body
  std::vector<Step> steps;
  std::vector<Slot> results;
};

struct Step {
  std::string_view op;
  std::string_view domain;  // "" for ONNX's own operators
  int64_t opset = 0;
  Name name;
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;  // kNoSlot: an output that is not read
  Attributes attributes;
  std::vector<Block> branches;  // If: then and else; Loop, Scan: the body
  std::vector<Slot> captures;   // outer slots that the branches read
};

struct SlotInfo {
  Name name;
  bool named = false;     // the name is the model's own and no other slot has it
  int32_t constant = -1;  // index into Program::constants
  int64_t narrow = 0;     // the number of its element type, if that is held in a wider one
};

struct Program {
  std::vector<SlotInfo> slots;
  std::vector<Tensor> constants;
  std::vector<Name> calls;  // a call's own `call` is the one around it
  Block main;
  std::vector<Slot> inputs;  // in the order of the file
  int64_t newest_opset = 0;  // of those that its steps have

  // Names for messages and graphs: "encoder/layer_1/conv".
  std::string text(const Name& name) const;
  std::string place_of(const Step& step) const;
  // The name of a value between stages. No two slots share it.
  std::string unique_name(Slot slot) const;
};

// Operators on sequences, which are bound without becoming nodes.
bool is_sequence_operator(std::string_view op);

// Refuses a file that is not a graph (values used before they exist, names given twice, functions
// that call themselves), and reports all unsupported operators at once.
Result<Program> make_program(const ModelProto& model, TensorLoader& loader);

// Which values of a program have one of the element types that tensors here hold in a wider one
// (shoal/model/ops/narrow_type.h). It follows from the file alone, before any shape is known.

// The number of the narrow type, TensorProto.DataType; 0: another type.
int64_t narrow_number(int64_t data_type);
int64_t narrow_number(std::span<const Argument> constant);  // of a Constant's attributes

// Of the first output of a step, whose inputs are among the slots. Few operators of ONNX take
// narrow types; the others compute in the wider one.
int64_t narrow_output(const Step& step, std::span<const SlotInfo> slots);

// Collects all operators of a model that are not supported, so that one message names them.
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
