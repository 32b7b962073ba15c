// Dataset for Python, and the options for preparing images.
#include "dataset.h"

#include <pybind11/stl.h>

#include "array.h"
#include "errors.h"
#include "gil.h"
#include "model.h"
#include "parts.h"

namespace py = pybind11;

namespace shoal::python {
namespace {

PyDataset open(const py::object& folder, const std::string& format, const std::string& part) {
  const std::map<std::string_view, Split> parts = {
      {"any", Split::kAny}, {"training", Split::kTraining}, {"held_out", Split::kHeldOut}};
  const auto split = parts.find(part);
  if (split == parts.end()) raise(invalid("split is any, training or held_out, not " + part));
  const std::string path = path_of(folder);
  auto opened = [&] {
    const ReleasedGil released;
    return open_dataset(path, format, split->second);
  }();
  return {unwrap(std::move(opened))};
}

// The arrays are viewed where they can be: the data set keeps them alive.
PyDataset of_arrays(const py::object& images, const py::object& labels) {
  return {
      unwrap(make_array_dataset(to_tensor(images, DType::kU8), to_tensor(labels, DType::kI64)))};
}

// Files may have to be read: other Python threads go on meanwhile.
py::tuple at(const PyDataset& self, py::ssize_t index) {
  const auto size = static_cast<py::ssize_t>(self.data->size());
  if (index < 0) index += size;
  if (index < 0 || index >= size) throw py::index_error("there is no such example");
  auto read = [&] {
    const ReleasedGil released;
    return self.data->at(static_cast<size_t>(index));
  }();
  const Example example = unwrap(std::move(read));
  return py::make_tuple(to_constant_array(example.image), example.label);
}

constexpr const char* kDatasetDoc =
    R"(Labelled images: a folder, or arrays in memory (``from_arrays``).

``format`` says what is in the folder: 'idx' (MNIST), 'cifar', 'npy', or 'folder' (images in one
folder per class, or a file labels.txt). ``split`` is 'training', 'held_out', or 'any': those held
out if there are such, else all. Indexing gives an image (uint8, [height, width, channels]) and the
number of its class.

>>> import numpy as np, shoal
>>> data = shoal.Dataset.from_arrays(np.zeros((5, 28, 28), np.uint8), [3, 1, 4, 1, 5])
>>> image, label = data[-1]
>>> len(data), image.shape, label
(5, (28, 28, 1), 5)
)";

}  // namespace

// A preset is the beginning; options that are given change it.
Preprocess take_preprocess(py::dict& options) {
  Preprocess how;
  std::string preset;
  take(options, "preset", preset);
  if (!preset.empty()) {
    const auto found = find_preset(preset);
    if (!found) raise(Status(Code::kNotFound, "no preset " + preset + ": imagenet, digits, yolo"));
    how = *found;
  }
  take(options, "resize", how.resize);
  take(options, "crop", how.crop);
  take(options, "stretch", how.stretch);
  take(options, "mean", how.mean);
  take(options, "std", how.std);
  take(options, "scale", how.scale);
  take(options, "bgr", how.bgr);
  take(options, "nhwc", how.nhwc);
  return how;
}

void refuse_rest(const py::dict& options) {
  for (const auto& [name, value] : options) {
    throw py::type_error("there is no option " + py::str(name).cast<std::string>());
  }
}

void add_dataset(py::module_& module) {
  py::class_<PyDataset>(module, "Dataset", kDatasetDoc)
      .def(py::init(&open), py::arg("folder"), py::arg("format"), py::arg("split") = "any")
      .def_static("from_arrays", &of_arrays, py::arg("images"), py::arg("labels"),
                  "Of uint8 images [n, h, w] or [n, h, w, c] and n integers; nothing is copied.")
      .def("__len__", [](const PyDataset& self) { return self.data->size(); })
      .def("__getitem__", &at, py::arg("index"));
}

}  // namespace shoal::python
