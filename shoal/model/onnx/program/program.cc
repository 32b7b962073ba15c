// Makes a Program from the messages of an untrusted file. Functions multiply its size, so nodes,
// values, memory and depth are bounded while they are inlined.
#include "shoal/model/onnx/program/program.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "shoal/base/text/printable.h"
#include "shoal/model/onnx/format/constant.h"
#include "shoal/model/onnx/opsets/normalize.h"

namespace shoal::onnx {
namespace {

// Operators that take a sequence or give one.
constexpr std::array<std::string_view, 9> kSequenceOperators = {
    "ConcatFromSequence", "SequenceAt",     "SequenceConstruct", "SequenceEmpty",  "SequenceErase",
    "SequenceInsert",     "SequenceLength", "SequenceMap",       "SplitToSequence"};

// What an entry of a hash table takes, about.
constexpr size_t kEntryBytes = 64;

std::string_view canonical(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

// The names visible at one place. Branches of an If see the scopes around them; functions do not.
struct Scope {
  std::unordered_map<std::string_view, Slot> names;
  Scope* outer = nullptr;
  std::unordered_set<Slot> captures;  // slots of outer scopes read in this one or inside it
};

// The body of a function, or the model's own graph, while its nodes are added.
struct Body {
  const std::vector<OpsetProto>* opsets = nullptr;
  const FunctionProto* function = nullptr;
  const Body* caller = nullptr;
  const CallAttributes* attributes = nullptr;  // what attribute references refer to
  int32_t call = -1;
  size_t depth = 0;  // calls and branches around it
};

// A node without a name is called after its first output.
Name name_of(const NodeProto& node, int32_t call) {
  return {node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name, call};
}

// Whether a later opset than those known has changed the operator, as far as its node tells.
bool has_grown(const NodeProto& node, const Step& step) {
  if (!step.domain.empty() || step.opset <= kNewestOpset) return false;
  std::vector<std::string_view> attributes;
  for (const AttributeProto& attribute : node.attributes) attributes.push_back(attribute.name);
  return !fits_newest_form(step.op, step.inputs.size(), attributes);
}

// Whether attributes of the step are graphs. Scan had another form before opset 9.
bool has_blocks(const Step& step) {
  return step.domain.empty() && (step.op == "If" || step.op == "Loop" || step.op == "SequenceMap" ||
                                 (step.op == "Scan" && step.opset >= 9));
}

class ProgramBuilder {
 public:
  ProgramBuilder(const ModelProto& model, TensorLoader& loader) : model_(model), loader_(loader) {}

  Result<Program> build();

 private:
  using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>;
  using Versions = std::unordered_map<std::string_view, int64_t>;

  Status index_functions();
  Result<Slot> define(std::string_view name, Scope& scope, const Body& body);
  Status define_constant(std::string_view name, Tensor tensor, int64_t narrow, Scope& scope,
                         const Body& body);
  Status define_initializers(const GraphProto& graph, Scope& scope, const Body& body);
  Status define_inputs(const GraphProto& graph, Scope& scope, const Body& body);
  // The slot of a name; nullopt if there is no such value, kNoSlot for an input of a function that
  // the call left out.
  std::optional<Slot> find(std::string_view name, Scope& scope);
  Result<std::vector<Slot>> find_all(std::span<const std::string_view> names, Scope& scope,
                                     std::span<const NodeProto> nodes);
  Result<std::vector<Slot>> define_all(std::span<const std::string_view> names, Scope& scope,
                                       const Body& body);

  Status add_nodes(std::span<const NodeProto> nodes, Scope& scope, const Body& body, Block& block);
  Status add_node(const NodeProto& node, std::vector<Slot> inputs, Scope& scope, const Body& body,
                  Block& block);
  Status add_operator(const NodeProto& node, std::vector<Argument> arguments, Step step,
                      Scope& scope, const Body& body, Block& block);
  // Returns the arguments that are not graphs.
  Result<std::vector<Argument>> add_branches(std::vector<Argument> arguments, Step& step,
                                             Scope& scope, const Body& body);
  Result<Block> make_branch(const GraphProto& graph, Scope& scope, const Body& body,
                            std::vector<Slot>& captures);
  Status inline_call(const NodeProto& node, const FunctionProto& function,
                     std::span<const Argument> arguments, std::vector<Slot> inputs, Scope& scope,
                     const Body& body, Block& block);

  const FunctionProto* find_function(const NodeProto& node) const;
  const Versions& versions_of(const std::vector<OpsetProto>& opsets);
  Result<int64_t> opset_of(std::string_view domain, const Body& body);
  Status charge(size_t bytes);

  const ModelProto& model_;
  TensorLoader& loader_;
  std::map<FunctionKey, const FunctionProto*> functions_;
  std::unordered_map<const std::vector<OpsetProto>*, Versions> versions_;
  Program program_;
  Unsupported unsupported_;
  size_t nodes_ = 0;
  size_t memory_left_ = kLimits.max_structure_bytes;
};

Status ProgramBuilder::index_functions() {
  for (const FunctionProto& f : model_.functions) {
    if (!functions_.emplace(FunctionKey(canonical(f.domain), f.name, f.overload), &f).second) {
      return invalid("function " + printable(f.name) + " is defined twice");
    }
  }
  return {};
}

const FunctionProto* ProgramBuilder::find_function(const NodeProto& node) const {
  const auto it = functions_.find(FunctionKey(canonical(node.domain), node.op_type, node.overload));
  return it == functions_.end() ? nullptr : it->second;
}

// By domain. A file may import any number of them, and every node asks, so this is not a search.
const ProgramBuilder::Versions& ProgramBuilder::versions_of(const std::vector<OpsetProto>& opsets) {
  const auto [it, is_new] = versions_.try_emplace(&opsets);
  if (is_new) {
    for (const OpsetProto& opset : opsets) {
      it->second.emplace(canonical(opset.domain), opset.version);
    }
  }
  return it->second;
}

Result<int64_t> ProgramBuilder::opset_of(std::string_view domain, const Body& body) {
  // The imports of a function come first. The model's are a fallback for functions that leave them
  // out.
  for (const auto* opsets : {body.opsets, &model_.opsets}) {
    const Versions& versions = versions_of(*opsets);
    const auto it = versions.find(domain);
    if (it == versions.end()) continue;
    const int64_t version = it->second;
    if (domain.empty()) program_.newest_opset = std::max(program_.newest_opset, version);
    if (version >= 1) return version;
    return invalid("opset " + std::to_string(version) + " does not exist");
  }
  return invalid("the model imports no opset of domain \"" + printable(domain) + "\"");
}

// Functions multiply the contents of a file, so the memory of every step is counted again here.
Status ProgramBuilder::charge(size_t bytes) {
  if (bytes > memory_left_) {
    return Status(Code::kExhausted, "the model is too large once its functions are inlined");
  }
  memory_left_ -= bytes;
  return {};
}

Result<Slot> ProgramBuilder::define(std::string_view name, Scope& scope, const Body& body) {
  if (name.empty()) return invalid("a value has no name");
  if (name.size() > kLimits.max_name_bytes) {
    return invalid("a name of " + std::to_string(name.size()) + " bytes is too long");
  }
  const auto slot = static_cast<Slot>(program_.slots.size());
  if (!scope.names.emplace(name, slot).second) {
    return invalid("the value " + printable(name) + " is defined twice");
  }
  if (program_.slots.size() >= kLimits.max_values) {
    return Status(Code::kExhausted, "the model has too many values");
  }
  SHOAL_TRY(charge(sizeof(SlotInfo) + kEntryBytes));
  // Names inside functions and branches may occur again elsewhere, so they do not identify a value.
  const bool named = scope.outer == nullptr && body.function == nullptr;
  program_.slots.push_back({{name, body.call}, named});
  return slot;
}

Status ProgramBuilder::define_constant(std::string_view name, Tensor tensor, int64_t narrow,
                                       Scope& scope, const Body& body) {
  SHOAL_ASSIGN(const Slot slot, define(name, scope, body));
  SlotInfo& info = program_.slots[static_cast<size_t>(slot)];
  info.constant = static_cast<int32_t>(program_.constants.size());
  info.narrow = narrow;
  program_.constants.push_back(std::move(tensor));
  return {};
}

Status ProgramBuilder::define_initializers(const GraphProto& graph, Scope& scope,
                                           const Body& body) {
  for (const TensorProto& proto : graph.initializers) {
    SHOAL_ASSIGN(Tensor tensor, loader_.load(proto));
    SHOAL_TRY(define_constant(proto.name, std::move(tensor), narrow_number(proto.data_type), scope,
                              body));
  }
  for (const SparseTensorProto& proto : graph.sparse_initializers) {
    auto tensor = loader_.load(proto);
    if (!tensor.ok()) return tensor.status().at(printable(proto.values.name));
    SHOAL_TRY(define_constant(proto.values.name, *std::move(tensor),
                              narrow_number(proto.values.data_type), scope, body));
  }
  return {};
}

// An initializer that is listed as an input, too, is the default of that input.
Status ProgramBuilder::define_inputs(const GraphProto& graph, Scope& scope, const Body& body) {
  std::unordered_set<std::string_view> seen;
  for (const ValueInfoProto& input : graph.inputs) {
    if (!seen.insert(input.name).second) {
      return invalid("the input " + printable(input.name) + " is declared twice");
    }
    const auto it = scope.names.find(input.name);
    if (it != scope.names.end()) {
      program_.inputs.push_back(it->second);
      continue;
    }
    SHOAL_ASSIGN(const Slot slot, define(input.name, scope, body));
    program_.inputs.push_back(slot);
    if (input.type) {
      program_.slots[static_cast<size_t>(slot)].narrow = narrow_number(input.type->element);
    }
  }
  return {};
}

std::optional<Slot> ProgramBuilder::find(std::string_view name, Scope& scope) {
  for (Scope* at = &scope; at != nullptr; at = at->outer) {
    const auto it = at->names.find(name);
    if (it == at->names.end()) continue;
    const Slot slot = it->second;
    // Constants are known in every stage, so only other slots count as captures.
    if (slot != kNoSlot && program_.slots[static_cast<size_t>(slot)].constant < 0) {
      for (Scope* inner = &scope; inner != at; inner = inner->outer) {
        inner->captures.insert(slot);
      }
    }
    return slot;
  }
  return std::nullopt;
}

Result<std::vector<Slot>> ProgramBuilder::find_all(std::span<const std::string_view> names,
                                                   Scope& scope, std::span<const NodeProto> nodes) {
  std::vector<Slot> slots;
  for (std::string_view name : names) {
    const auto slot = name.empty() ? kNoSlot : find(name, scope);
    slots.push_back(slot.value_or(kNoSlot));
    if (slot) continue;
    // Computed only for the message: files with nodes out of order are a common mistake of tools.
    const bool later = std::ranges::any_of(nodes, [&](const NodeProto& node) {
      return std::ranges::find(node.outputs, name) != node.outputs.end();
    });
    return invalid("the value " + printable(name) +
                   (later ? " is used before it is computed: the nodes are out of order or form "
                            "a cycle"
                          : " is used, but nothing computes it"));
  }
  return slots;
}

Result<std::vector<Slot>> ProgramBuilder::define_all(std::span<const std::string_view> names,
                                                     Scope& scope, const Body& body) {
  std::vector<Slot> slots;
  for (std::string_view name : names) {
    slots.push_back(kNoSlot);
    if (!name.empty()) {
      SHOAL_ASSIGN(slots.back(), define(name, scope, body));
    }
  }
  // Trailing outputs without a name are the same as absent ones.
  while (!slots.empty() && slots.back() == kNoSlot) slots.pop_back();
  return slots;
}

Status ProgramBuilder::add_nodes(std::span<const NodeProto> nodes, Scope& scope, const Body& body,
                                 Block& block) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeProto& node = nodes[i];
    if (++nodes_ > kLimits.max_nodes) {
      return Status(Code::kExhausted, "the model has more than " +
                                          std::to_string(kLimits.max_nodes) +
                                          " nodes once its functions are inlined");
    }
    auto inputs = find_all(node.inputs, scope, nodes.subspan(i));
    Status status =
        inputs.ok() ? add_node(node, *std::move(inputs), scope, body, block) : inputs.status();
    if (!status.ok()) {
      return status.code() == Code::kExhausted ? status
                                               : status.at(program_.text(name_of(node, body.call)));
    }
  }
  return {};
}

Status ProgramBuilder::add_node(const NodeProto& node, std::vector<Slot> inputs, Scope& scope,
                                const Body& body, Block& block) {
  if (node.name.size() > kLimits.max_name_bytes || node.op_type.size() > kLimits.max_name_bytes) {
    return invalid("a name is too long");
  }
  // References that lead nowhere leave no argument, but take time all the same.
  SHOAL_TRY(charge(node.attributes.size() * sizeof(Argument)));
  SHOAL_ASSIGN(const std::vector<Argument> arguments, resolve(node.attributes, *body.attributes));
  if (const FunctionProto* function = find_function(node)) {
    return inline_call(node, *function, arguments, std::move(inputs), scope, body, block);
  }
  const std::string_view domain = canonical(node.domain);
  SHOAL_ASSIGN(const int64_t opset, opset_of(domain, body));
  if (domain.empty() && node.op_type == "Constant") {
    if (node.outputs.size() != 1) return invalid("a Constant has one output");
    SHOAL_ASSIGN(Tensor tensor, constant_of(arguments, loader_));
    return define_constant(node.outputs[0], std::move(tensor), narrow_number(arguments), scope,
                           body);
  }
  Step step;
  step.op = node.op_type;
  step.domain = domain;
  step.opset = opset;
  step.name = {node.name, body.call};
  step.inputs = std::move(inputs);
  return add_operator(node, arguments, std::move(step), scope, body, block);
}

Status ProgramBuilder::add_operator(const NodeProto& node, std::vector<Argument> arguments,
                                    Step step, Scope& scope, const Body& body, Block& block) {
  const bool branches = has_blocks(step);
  // All unsupported operators are collected, so that one message names them. The outputs are
  // defined all the same, or every reader would be reported as well.
  const bool on_sequences = step.domain.empty() && is_sequence_operator(step.op);
  if (!branches && !on_sequences && !supported(step.op, step.domain, step.opset)) {
    unsupported_.add(step.domain, step.op, program_.text(name_of(node, body.call)));
    return define_all(node.outputs, scope, body).status();
  }
  if (has_grown(node, step)) {
    unsupported_.add(step.domain, step.op, program_.text(name_of(node, body.call)), step.opset);
    return define_all(node.outputs, scope, body).status();
  }
  if (branches) {
    SHOAL_ASSIGN(arguments, add_branches(std::move(arguments), step, scope, body));
  }
  SHOAL_ASSIGN(step.attributes, convert(step.op, arguments, loader_));
  SHOAL_TRY(charge(sizeof(Step) + size_of(step.attributes) +
                   (step.inputs.size() + node.outputs.size()) * sizeof(Slot)));
  SHOAL_ASSIGN(step.outputs, define_all(node.outputs, scope, body));
  if (step.outputs.empty()) return invalid("has no output");
  for (const Block& branch : step.branches) {
    if (step.op == "If" && branch.results.size() != node.outputs.size()) {
      return invalid("the branches of an If do not have its number of outputs");
    }
  }
  if (step.outputs[0] != kNoSlot) {
    program_.slots[static_cast<size_t>(step.outputs[0])].narrow =
        narrow_output(step, program_.slots);
  }
  block.steps.push_back(std::move(step));
  return {};
}

Result<std::vector<Argument>> ProgramBuilder::add_branches(std::vector<Argument> arguments,
                                                           Step& step, Scope& scope,
                                                           const Body& body) {
  const bool is_if = step.op == "If";
  if (is_if && (step.inputs.size() != 1 || step.inputs[0] == kNoSlot)) {
    return invalid("If has one input");
  }
  std::vector<Slot> captures;
  for (std::string_view which : is_if ? std::vector<std::string_view>{"then_branch", "else_branch"}
                                      : std::vector<std::string_view>{"body"}) {
    const auto it = std::ranges::find(arguments, which, &Argument::name);
    const auto* graph = it == arguments.end()
                            ? nullptr
                            : std::get_if<std::shared_ptr<const GraphProto>>(&it->proto->value);
    if (graph == nullptr) return invalid(std::string(step.op) + " has no " + std::string(which));
    auto block = make_branch(**graph, scope, body, captures);
    if (!block.ok()) return block.status().at(which);
    if (is_if && !block->inputs.empty()) return invalid("a branch of an If has no inputs");
    step.branches.push_back(*std::move(block));
    arguments.erase(it);
  }
  std::ranges::sort(captures);
  captures.erase(std::unique(captures.begin(), captures.end()), captures.end());
  step.captures = std::move(captures);
  SHOAL_TRY(charge(step.captures.size() * sizeof(Slot)));
  return arguments;
}

Result<Block> ProgramBuilder::make_branch(const GraphProto& graph, Scope& scope, const Body& body,
                                          std::vector<Slot>& captures) {
  // The depth bounds the recursion of this builder, and so the stack.
  if (body.depth + 1 > kLimits.max_call_depth) return invalid("is nested too deep");
  Scope inner;
  inner.outer = &scope;
  Body inside = body;
  ++inside.depth;
  Block block;
  SHOAL_TRY(define_initializers(graph, inner, inside));
  for (const ValueInfoProto& input : graph.inputs) {
    SHOAL_ASSIGN(const Slot slot, define(input.name, inner, inside));
    if (input.type) {
      program_.slots[static_cast<size_t>(slot)].narrow = narrow_number(input.type->element);
    }
    block.inputs.push_back(slot);
  }
  SHOAL_TRY(add_nodes(graph.nodes, inner, inside, block));
  std::vector<std::string_view> names;
  for (const ValueInfoProto& output : graph.outputs) names.push_back(output.name);
  SHOAL_ASSIGN(block.results, find_all(names, inner, {}));
  if (std::ranges::find(block.results, kNoSlot) != block.results.end()) {
    return invalid("has an output without a name");
  }
  captures.insert(captures.end(), inner.captures.begin(), inner.captures.end());
  return block;
}

Status ProgramBuilder::inline_call(const NodeProto& node, const FunctionProto& function,
                                   std::span<const Argument> arguments, std::vector<Slot> inputs,
                                   Scope& scope, const Body& body, Block& block) {
  // Recursion would never end, and ONNX forbids it.
  for (const Body* at = &body; at != nullptr; at = at->caller) {
    if (at->function == &function) {
      return invalid("function " + printable(function.name) + " calls itself");
    }
  }
  if (body.depth + 1 > kLimits.max_call_depth) return invalid("functions are nested too deep");
  if (inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
    return invalid("has more inputs or outputs than function " + printable(function.name));
  }
  // A call takes time for these even if the body is empty. Their entries do not outlive it, but are
  // charged as if they did: calls may be many.
  SHOAL_TRY(charge(
      (arguments.size() + function.defaults.size() + function.inputs.size() + node.outputs.size()) *
      kEntryBytes));
  CallAttributes attributes;
  for (const Argument& argument : arguments) attributes.emplace(argument.name, argument.proto);
  for (const AttributeProto& fallback : function.defaults) {
    attributes.emplace(fallback.name, &fallback);
  }
  const auto first_inside = static_cast<Slot>(program_.slots.size());
  SHOAL_TRY(charge(sizeof(Name)));
  // Messages and profiles show the path of calls, which names the place in the model.
  program_.calls.push_back({node.name.empty() ? node.op_type : node.name, body.call});
  Body inside{.opsets = &function.opsets,
              .function = &function,
              .caller = &body,
              .attributes = &attributes,
              .call = static_cast<int32_t>(program_.calls.size() - 1),
              .depth = body.depth + 1};
  Scope inner;
  // A call may leave out trailing inputs. Inside, they read as inputs that are not given.
  inputs.resize(function.inputs.size(), kNoSlot);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inner.names.emplace(function.inputs[i], inputs[i]).second) {
      return invalid("function " + printable(function.name) + " has an input twice");
    }
  }
  SHOAL_TRY(add_nodes(function.nodes, inner, inside, block));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const Slot slot = find(function.outputs[i], inner).value_or(kNoSlot);
    if (slot == kNoSlot) {
      return invalid("function " + printable(function.name) + " does not compute its output " +
                     printable(function.outputs[i]));
    }
    if (!scope.names.emplace(node.outputs[i], slot).second) {
      return invalid("the value " + printable(node.outputs[i]) + " is defined twice");
    }
    // The value is known by the name that it has outside.
    if (slot >= first_inside) {
      program_.slots[static_cast<size_t>(slot)].name = {node.outputs[i], body.call};
    }
  }
  return {};
}

Result<Program> ProgramBuilder::build() {
  SHOAL_TRY(index_functions());
  const GraphProto& graph = *model_.graph;
  const CallAttributes none;
  const Body body{.opsets = &model_.opsets, .attributes = &none};
  Scope scope;
  SHOAL_TRY(define_initializers(graph, scope, body));
  SHOAL_TRY(define_inputs(graph, scope, body));
  SHOAL_TRY(add_nodes(graph.nodes, scope, body, program_.main));
  // Reported before the outputs are looked up: an unsupported operator is the cause of most errors
  // there.
  SHOAL_TRY(unsupported_.status());
  std::vector<std::string_view> names;
  std::unordered_set<std::string_view> seen;
  for (const ValueInfoProto& output : graph.outputs) {
    if (output.name.empty() || !seen.insert(output.name).second) {
      return invalid("the output \"" + printable(output.name) + "\" is declared twice or unnamed");
    }
    names.push_back(output.name);
  }
  auto results = find_all(names, scope, {});
  if (!results.ok()) return results.status().at("graph outputs");
  program_.main.results = *std::move(results);
  return std::move(program_);
}

}  // namespace

bool is_sequence_operator(std::string_view op) {
  return std::ranges::find(kSequenceOperators, op) != kSequenceOperators.end();
}

std::string Program::text(const Name& name) const {
  // Calls nest 32 deep with names of up to 4096 bytes each; messages need the innermost ones.
  constexpr size_t kEnough = 256;
  std::string text = printable(name.text, kEnough);
  for (int32_t call = name.call; call >= 0 && text.size() < kEnough;
       call = calls[static_cast<size_t>(call)].call) {
    text = printable(calls[static_cast<size_t>(call)].text, kEnough) + "/" + text;
  }
  return text;
}

std::string Program::place_of(const Step& step) const {
  if (!step.name.text.empty()) return text(step.name);
  for (Slot slot : step.outputs) {
    if (slot != kNoSlot) {
      return std::string(step.op) + " " + text(slots[static_cast<size_t>(slot)].name);
    }
  }
  return std::string(step.op);
}

std::string Program::unique_name(Slot slot) const {
  const SlotInfo& info = slots[static_cast<size_t>(slot)];
  if (info.named) return std::string(info.name.text);
  return text(info.name) + "@" + std::to_string(slot);
}

Result<Program> make_program(const ModelProto& model, TensorLoader& loader) {
  return ProgramBuilder(model, loader).build();
}

}  // namespace shoal::onnx
