// Everything of Shoal that is public, in one header. Smaller ones do, too: what a program includes
// of this list is all it depends on, and nothing else is installed.
//
//   auto device = shoal::make_cpu_device();
//   auto session = shoal::Session::open("model.onnx", *device);
//   auto answers = session->run({{"input", image}});
#pragma once

// Failures are values.
#include "shoal/base/status.h"

// Arrays, and networks of operators.
#include "shoal/graph/graph.h"
#include "shoal/graph/operator.h"
#include "shoal/graph/text.h"
#include "shoal/ops/find.h"
#include "shoal/tensor/dtype.h"
#include "shoal/tensor/tensor.h"

// A model on a device.
#include "shoal/cpu/cpu.h"
#include "shoal/delta/delta_device.h"
#include "shoal/device/device.h"
#include "shoal/device/failover.h"
#include "shoal/device/hybrid.h"
#include "shoal/devices/devices.h"
#include "shoal/gpu/options.h"
#include "shoal/gpu/precision.h"
#include "shoal/keyframe/flow.h"
#include "shoal/keyframe/key_schedule.h"
#include "shoal/keyframe/pipeline.h"
#include "shoal/keyframe/split.h"
#include "shoal/keyframe/warp.h"
#include "shoal/models/model.h"
#include "shoal/onnx/export.h"
#include "shoal/onnx/sparse_storage.h"
#if __has_include("shoal/opencl/opencl.h")  // not with SHOAL_OPENCL=OFF
#include "shoal/opencl/opencl.h"
#endif
#include "shoal/session/session.h"
#if __has_include("shoal/vulkan/vulkan.h")  // not with SHOAL_VULKAN=OFF
#include "shoal/vulkan/vulkan.h"
#endif
#include "shoal/windows/sliding_window.h"
#include "shoal/windows/temporal_pyramid.h"
#include "shoal/windows/window_runner.h"
#include "shoal/zoo/zoo.h"

// A model on several devices.
#include "shoal/plan/summary.h"
#if __has_include("shoal/cluster/cluster.h")  // not with SHOAL_CLUSTER=OFF
#include "shoal/cluster/cluster.h"
#endif

// Training and compression.
#include "shoal/compress/groups.h"
#include "shoal/compress/importance.h"
#include "shoal/compress/int8.h"
#include "shoal/compress/int8_options.h"
#include "shoal/compress/methods.h"
#include "shoal/compress/nest.h"
#include "shoal/compress/quantize.h"
#include "shoal/compress/remove.h"
#include "shoal/compress/target.h"
#include "shoal/privacy/privacy_options.h"
#include "shoal/train/initial_weights.h"
#include "shoal/train/schedule.h"
#include "shoal/train/step_work.h"
#include "shoal/train/trainer.h"

// Images, arrays and data sets, and training and evaluation on them, unless Shoal was built without
// (SHOAL_DATA=OFF).
#if __has_include("shoal/data/dataset.h")
#include "shoal/branch/learn_branches.h"
#include "shoal/branch/make_branches.h"
#include "shoal/catalog/build.h"
#include "shoal/catalog/catalog.h"
#include "shoal/catalog/make_variants.h"
#include "shoal/catalog/model_of.h"
#include "shoal/catalog/special_maker.h"
#include "shoal/catalog/specialise.h"
#include "shoal/data/dataset.h"
#include "shoal/data/image.h"
#include "shoal/data/jpeg.h"
#include "shoal/data/npy.h"
#include "shoal/data/safetensors.h"
#include "shoal/detect/class_names.h"
#include "shoal/detect/detection.h"
#include "shoal/detect/detector.h"
#include "shoal/detect/head.h"
#include "shoal/detect/precision.h"
#include "shoal/exits/add_exits.h"
#include "shoal/exits/budget.h"
#include "shoal/exits/evaluate_exits.h"
#include "shoal/exits/runner.h"
#include "shoal/faces/align.h"
#include "shoal/faces/cascade.h"
#include "shoal/faces/database.h"
#include "shoal/faces/embedder.h"
#include "shoal/faces/embedding.h"
#include "shoal/faces/evaluation.h"
#include "shoal/faces/pairs.h"
#include "shoal/faces/recent_faces.h"
#include "shoal/faces/recogniser.h"
#include "shoal/fit/calibration_files.h"
#include "shoal/fit/evaluation.h"
#include "shoal/fit/scores.h"
#include "shoal/fit/train.h"
#include "shoal/fit_cluster/fit_cluster.h"
#include "shoal/mqtt/client.h"
#include "shoal/mqtt/message.h"
#include "shoal/mqtt/reporter.h"
#include "shoal/query/ask.h"
#include "shoal/query/classifier.h"
#include "shoal/query/index.h"
#include "shoal/query/labels.h"
#include "shoal/query/video_query.h"
#include "shoal/search/search.h"
#include "shoal/shrink/shrink.h"
#include "shoal/shrink/tprune.h"
#include "shoal/track/assignment.h"
#include "shoal/track/box_motion.h"
#include "shoal/track/mot_metrics.h"
#include "shoal/track/tracker.h"
#include "shoal/watch/activity.h"
#include "shoal/watch/agreement.h"
#include "shoal/watch/clips.h"
#include "shoal/watch/draw.h"
#include "shoal/watch/evaluation.h"
#include "shoal/watch/frame_source.h"
#include "shoal/watch/frame_writer.h"
#include "shoal/watch/gate.h"
#include "shoal/watch/key_frames.h"
#include "shoal/watch/open_source.h"
#include "shoal/watch/place.h"
#include "shoal/watch/scene.h"
#include "shoal/watch/video_source.h"
#include "shoal/watch/watch.h"
#endif
