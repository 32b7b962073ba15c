/* Shoal for C, and for every language that can call C.
 *
 *   shoal_model* model = NULL;
 *   shoal_session* session = NULL;
 *   shoal_status* status = shoal_model_open("model.onnx", &model);
 *   if (status == NULL) status = shoal_session_open(model, NULL, &session);
 *   if (status != NULL) fprintf(stderr, "%s\n", shoal_status_message(status));
 *
 * Failures. A function that can fail returns a status: NULL for success, otherwise an object with a
 * code and a message, which the caller frees. A wrong argument (NULL where something is needed, an
 * index or a size that is out of range, the wrong element type) is a failure with
 * SHOAL_INVALID_ARGUMENT; it never aborts. After a failure, out arguments are as they were.
 *
 * Ownership. A function that fills an out argument of a handle type gives it to the caller, who
 * frees it with the function of that type; freeing NULL does nothing. Handles keep alive what they
 * were made from, so that they may be freed in any order. Strings and arrays that a function
 * returns belong to the handle they were asked from, and live as long as it does.
 *
 * Threads. Any function may be called from several threads at once, also on the same handle, except
 * while that handle is being freed, and except where a type says otherwise.
 *
 * Versions. Option structs begin with their size, which says how much of them the caller knows:
 * begin with SHOAL_..._INIT, and a program compiled against this header runs with later libraries.
 */
#ifndef SHOAL_C_SHOAL_H_
#define SHOAL_C_SHOAL_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SHOAL_API __attribute__((visibility("default")))
#define SHOAL_MUST_USE __attribute__((warn_unused_result))
#else
#define SHOAL_API
#define SHOAL_MUST_USE
#endif

/* ---- Version ----------------------------------------------------------------------------------
 */

/* The library's version, "0.2.0". */
SHOAL_API const char* shoal_version(void);

/* ---- Status -----------------------------------------------------------------------------------
 */

/* The kind of a failure, which a program can act on. */
typedef int32_t shoal_code;
enum {
  SHOAL_OK = 0,
  SHOAL_INVALID_ARGUMENT = 1, /* the caller's fault; retrying cannot help */
  SHOAL_NOT_FOUND = 2,        /* a file, a model or a name that is not there */
  SHOAL_UNSUPPORTED = 3,      /* valid, but this build or device cannot do it */
  SHOAL_CORRUPT = 4,          /* bytes from a file or a peer do not parse */
  SHOAL_EXHAUSTED = 5,        /* memory, disk, slots */
  SHOAL_UNAVAILABLE = 6,      /* a worker is gone */
  SHOAL_DEADLINE = 7,         /* it took too long */
  SHOAL_INTERNAL = 8,         /* Shoal's fault */
  SHOAL_CANCELLED = 9         /* the caller took it back */
};

/* A failure; NULL stands for success. */
typedef struct shoal_status shoal_status;

/* The kind of the failure; SHOAL_OK for NULL. */
SHOAL_API shoal_code shoal_status_code(const shoal_status* status);
/* One sentence for people; "ok" for NULL. Lives as long as the status. */
SHOAL_API const char* shoal_status_message(const shoal_status* status);
/* Frees a status. */
SHOAL_API void shoal_status_free(shoal_status* status);

/* ---- Tensors ----------------------------------------------------------------------------------
 */

/* The type of a tensor's elements. */
typedef int32_t shoal_dtype;
enum {
  SHOAL_F32 = 0,
  SHOAL_F64 = 1,
  SHOAL_F16 = 2,
  SHOAL_BF16 = 3,
  SHOAL_I8 = 4,
  SHOAL_U8 = 5,
  SHOAL_I16 = 6,
  SHOAL_U16 = 7,
  SHOAL_I32 = 8,
  SHOAL_U32 = 9,
  SHOAL_I64 = 10,
  SHOAL_U64 = 11,
  SHOAL_BOOL = 12 /* one byte, 0 or 1 */
};

/* A dense, row-major array. */
typedef struct shoal_tensor shoal_tensor;

/* Called once when nothing reads the elements any more, from any thread. */
typedef void (*shoal_release)(void* context);

/* A tensor of zeros. `shape` has `rank` dimensions, at most 8. */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_tensor_create(shoal_dtype dtype, size_t rank,
                                                           const int64_t* shape,
                                                           shoal_tensor** out);

/* A tensor of elements that lie at `data` and are not copied: they must stay there, unchanged,
 * until `release(context)` is called. If `release` is NULL, they must outlive the tensor and every
 * request that it is an input of. `bytes` must be what the elements take, and `data` aligned for
 * one of them. On failure `release` is not called. */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_tensor_wrap(shoal_dtype dtype, size_t rank,
                                                         const int64_t* shape, const void* data,
                                                         size_t bytes, shoal_release release,
                                                         void* context, shoal_tensor** out);

/* The image in a JPEG or PNG file as f32 [1, channels, height, width], each pixel between 0 and 1.
 * The image is stretched to that size. SHOAL_UNSUPPORTED if the library was built without images.
 */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_tensor_read_image(const char* path, int64_t channels,
                                                               int64_t height, int64_t width,
                                                               shoal_tensor** out);

/* The type of the elements; SHOAL_F32 for NULL. */
SHOAL_API shoal_dtype shoal_tensor_dtype(const shoal_tensor* tensor);
/* How many dimensions there are; 0 for NULL. */
SHOAL_API size_t shoal_tensor_rank(const shoal_tensor* tensor);
/* The dimensions, the outermost first; NULL for NULL. */
SHOAL_API const int64_t* shoal_tensor_shape(const shoal_tensor* tensor);
/* The elements, which may only be read; NULL for NULL. */
SHOAL_API const void* shoal_tensor_data(const shoal_tensor* tensor);
/* The elements of a tensor that was created, which may be written while no thread reads them; NULL
 * for other tensors. */
SHOAL_API void* shoal_tensor_mutable_data(shoal_tensor* tensor);
/* The number of bytes that the elements take; 0 for NULL. */
SHOAL_API size_t shoal_tensor_bytes(const shoal_tensor* tensor);
/* Frees a tensor. Elements that a session or a result shares live on. */
SHOAL_API void shoal_tensor_free(shoal_tensor* tensor);

/* ---- Models -----------------------------------------------------------------------------------
 */

/* A network that was loaded. */
typedef struct shoal_model shoal_model;

/* Opens an ONNX file, or a network that is built in: "zoo:digits" is trained, the others, such as
 * "zoo:resnet18", have random weights. Fails with SHOAL_NOT_FOUND if there is no such file or
 * network, with SHOAL_CORRUPT if the file does not parse, and with SHOAL_UNSUPPORTED and a list if
 * operators are not known. */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_model_open(const char* name, shoal_model** out);

/* Opens an ONNX file in memory, which is copied. Its weights must be in it. Fails as above. */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_model_parse(const void* data, size_t bytes,
                                                         shoal_model** out);

/* An input or an output of a model, as it is declared. */
typedef struct shoal_value_info {
  size_t struct_size;   /* begin with SHOAL_VALUE_INFO_INIT */
  const char* name;     /* belongs to the model, as `shape` does */
  shoal_dtype dtype;    /* -1: not declared */
  int32_t rank;         /* -1: not declared */
  const int64_t* shape; /* `rank` dimensions, -1 where any size will do */
  int32_t optional;     /* 1: the model has a default for this input */
} shoal_value_info;
#define SHOAL_VALUE_INFO_INIT \
  { sizeof(shoal_value_info), NULL, 0, 0, NULL, 0 }

/* How many inputs a model has; 0 for NULL, and where a network cannot be built. */
SHOAL_API size_t shoal_model_input_count(const shoal_model* model);
/* How many outputs a model has; 0 as above. */
SHOAL_API size_t shoal_model_output_count(const shoal_model* model);
/* Fills `info` with the input of this index, in the model's order. Fails with
 * SHOAL_INVALID_ARGUMENT if there is none. */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_model_input(const shoal_model* model, size_t index,
                                                         shoal_value_info* info);
/* Fills `info` with the output of this index. Fails with SHOAL_INVALID_ARGUMENT if there is none.
 */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_model_output(const shoal_model* model, size_t index,
                                                          shoal_value_info* info);
/* Writes the model as ONNX, with 1 for dimensions that it leaves open. The file appears when it is
 * complete. Fails with SHOAL_UNSUPPORTED if shapes depend on elements that only a run knows. */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_model_save(const shoal_model* model, const char* path);
/* Frees a model. */
SHOAL_API void shoal_model_free(shoal_model* model);

/* ---- Devices ----------------------------------------------------------------------------------
 */

/* A device, which networks run on. */
typedef struct shoal_device shoal_device;

/* How a device chooses among kernels. */
enum {
  SHOAL_TUNE_OFF = 0,  /* by estimate: results can be repeated bit by bit */
  SHOAL_TUNE_FAST = 1, /* by measuring those whose estimates are close */
  SHOAL_TUNE_FULL = 2  /* by measuring all */
};

/* How to open a device; fields that do not concern it are ignored. */
typedef struct shoal_device_options {
  size_t struct_size;     /* begin with SHOAL_DEVICE_OPTIONS_INIT */
  int32_t threads;        /* 0: one per core */
  int32_t tune;           /* SHOAL_TUNE_... */
  int32_t low_memory;     /* 1: weights may not take more room where that is faster */
  int32_t survive;        /* cluster: so many workers may be lost, 0 to 2 */
  double timeout_seconds; /* cluster: for one request; 0: a minute */
  int32_t throughput;     /* cluster: 1: plan for many answers a second, not for one answer soon */
  int64_t verify;         /* cluster: check one request of so many for lies; 0: none */
} shoal_device_options;
#define SHOAL_DEVICE_OPTIONS_INIT \
  { sizeof(shoal_device_options), 0, SHOAL_TUNE_OFF, 0, 0, 0, 0, 0 }

/* The name of a device that shoal_device_open takes, from index 0 on; NULL after the last. */
SHOAL_API const char* shoal_device_list(size_t index);
/* Opens a device by name: "cpu"; "reference", slow and plain, to compare with; "cluster" or
 * "cluster:FOLDER", the workers that joined a cluster, by default this user's. `options` may be
 * NULL. Fails with SHOAL_NOT_FOUND for another name, and for a cluster where the library was built
 * without. */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_device_open(const char* name,
                                                         const shoal_device_options* options,
                                                         shoal_device** out);
/* The name of the device: "cpu", "cluster(5)"; NULL for NULL. */
SHOAL_API const char* shoal_device_name(const shoal_device* device);
/* Frees a device; sessions on it keep it alive. */
SHOAL_API void shoal_device_free(shoal_device* device);

/* ---- Sessions ---------------------------------------------------------------------------------
 */

/* A model on a device, ready for requests: any number of threads may run it at once. */
typedef struct shoal_session shoal_session;
/* The answer to a request. */
typedef struct shoal_result shoal_result;
/* A handle by which another thread can cancel requests. */
typedef struct shoal_cancel shoal_cancel;

/* How to carry out a request. */
typedef struct shoal_run_options {
  size_t struct_size;     /* begin with SHOAL_RUN_OPTIONS_INIT */
  double timeout_seconds; /* then the request fails with SHOAL_DEADLINE; 0: no limit */
  shoal_cancel* cancel;   /* not NULL: the request can be cancelled by it */
} shoal_run_options;
#define SHOAL_RUN_OPTIONS_INIT \
  { sizeof(shoal_run_options), 0, NULL }

/* Opens a session, which keeps model and device. `device` NULL: a CPU of its own. */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_session_open(const shoal_model* model,
                                                          shoal_device* device,
                                                          shoal_session** out);
/* Compiles for the shapes that the model declares, so that the first request is as fast as others.
 * SHOAL_INVALID_ARGUMENT where it leaves a size open. */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_session_prepare(shoal_session* session);
/* Runs the model on `count` inputs: tensors[i] is the input called names[i]. Inputs are not copied,
 * and must not be written until the function returns, which is when the request is answered or has
 * failed. `options` may be NULL. Fails with SHOAL_INVALID_ARGUMENT where inputs do not fit, with
 * SHOAL_DEADLINE and SHOAL_CANCELLED as the options say, and with SHOAL_EXHAUSTED where memory is
 * short. */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_session_run(shoal_session* session, size_t count,
                                                         const char* const* names,
                                                         const shoal_tensor* const* tensors,
                                                         const shoal_run_options* options,
                                                         shoal_result** out);
/* Frees a session. No request may be in progress. */
SHOAL_API void shoal_session_free(shoal_session* session);

/* How many outputs there are: as many as the model has, in its order. */
SHOAL_API size_t shoal_result_count(const shoal_result* result);
/* The name of an output; NULL where the index is out of range. */
SHOAL_API const char* shoal_result_name(const shoal_result* result, size_t index);
/* An output, which belongs to the result; NULL where the index is out of range. */
SHOAL_API const shoal_tensor* shoal_result_tensor(const shoal_result* result, size_t index);
/* Frees a result. */
SHOAL_API void shoal_result_free(shoal_result* result);

/* Makes a handle to cancel requests with. One serves any number of them. */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_cancel_create(shoal_cancel** out);
/* Lets requests that were given it, now or later, fail with SHOAL_CANCELLED. Does not wait. */
SHOAL_API void shoal_cancel_request(shoal_cancel* cancel);
/* Frees it; requests that were given it go on. */
SHOAL_API void shoal_cancel_free(shoal_cancel* cancel);

/* ---- Plans ------------------------------------------------------------------------------------
 */

/* Equal devices that need not be there. */
typedef struct shoal_plan_options {
  size_t struct_size; /* begin with SHOAL_PLAN_OPTIONS_INIT */
  int32_t workers;    /* how many devices; 0: 4 */
  int32_t survive;    /* so many of them may be lost, 0 to 2 */
  const char* device; /* their kind; NULL: "pi4" */
  const char* link;   /* between them; NULL: "gigabit" */
} shoal_plan_options;
#define SHOAL_PLAN_OPTIONS_INIT \
  { sizeof(shoal_plan_options), 0, 0, NULL, NULL }

/* The gain of spreading a model over such devices: one JSON object with the fields of
 * `shoal plan --json`, which the caller frees with shoal_string_free. `options` may be NULL. */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_plan(const shoal_model* model,
                                                  const shoal_plan_options* options, char** json);
/* Frees a string that a function gave to the caller. */
SHOAL_API void shoal_string_free(char* string);

/* ---- Training ---------------------------------------------------------------------------------
 */

/* A network that learns. One thread at a time. */
typedef struct shoal_trainer shoal_trainer;

/* How weights follow their gradients. */
enum { SHOAL_SGD = 0, SHOAL_ADAM = 1, SHOAL_ADAMW = 2 };
/* The loss, which training minimises. */
enum {
  SHOAL_CROSS_ENTROPY = 0, /* targets: labels, i64 [batch] */
  SHOAL_MEAN_SQUARE = 1    /* targets: values, like the network's output */
};

/* How to train. */
typedef struct shoal_trainer_options {
  size_t struct_size;   /* begin with SHOAL_TRAINER_OPTIONS_INIT */
  int64_t batch;        /* examples in a step */
  int32_t rule;         /* SHOAL_SGD, ... */
  int32_t loss;         /* SHOAL_CROSS_ENTROPY, ... */
  float rate;           /* the learning rate */
  float momentum;       /* of SGD */
  float weight_decay;   /* as a share of each weight */
  int32_t from_scratch; /* 1: fresh weights, which depend on the seed alone */
  int64_t classes;      /* above 0: a fresh last layer for so many classes */
  uint64_t seed;        /* of fresh weights and of what Dropout drops */
  int64_t memory_bytes; /* above 0: the values of a step take no more, some computed twice */
} shoal_trainer_options;
#define SHOAL_TRAINER_OPTIONS_INIT \
  { sizeof(shoal_trainer_options), 1, SHOAL_SGD, SHOAL_CROSS_ENTROPY, 0.01f, 0, 0, 0, 0, 1, 0 }

/* Prepares training. The model has one input, whose first dimension is the batch, and one output.
 * `device` NULL: the CPU; `options` NULL: as SHOAL_TRAINER_OPTIONS_INIT. */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_trainer_create(const shoal_model* model,
                                                            shoal_device* device,
                                                            const shoal_trainer_options* options,
                                                            shoal_trainer** out);
/* One step: forward, backward, update. The learning rate is the options' times `rate_factor`. Gives
 * the loss of the batch before the step; `loss` may be NULL. A loss that is no number is a failure,
 * and changes nothing. */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_trainer_step(shoal_trainer* trainer,
                                                          const shoal_tensor* inputs,
                                                          const shoal_tensor* targets,
                                                          double rate_factor, float* loss);
/* The network with the weights as they are now, as a copy: later steps do not change it. */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_trainer_model(const shoal_trainer* trainer,
                                                           shoal_model** out);
/* Writes that network as ONNX. The file appears when it is complete. */
SHOAL_API SHOAL_MUST_USE shoal_status* shoal_trainer_save(const shoal_trainer* trainer,
                                                          const char* path);
/* Frees a trainer. */
SHOAL_API void shoal_trainer_free(shoal_trainer* trainer);

#ifdef __cplusplus
}
#endif

#endif /* SHOAL_C_SHOAL_H_ */
