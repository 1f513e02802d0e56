// The operators of the test device: views are made here; everything else runs
// on the CPU, over tensors that see the device's memory where kernels may.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <sys/mman.h>
#include <torch/library.h>

#include <memory>

#include "tests/device/device_runtime.h"

namespace chimera::testing {
namespace {

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

DeviceRuntime& runtime() { return DeviceRuntime::get(); }

bool is_ours(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == at::kPrivateUse1;
}

// The bytes between the first and the last element.
Use use_of(const at::Tensor& tensor, bool writes) {
  if (tensor.numel() == 0) return {};
  std::int64_t last = 0;
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) {
    last += (tensor.size(dim) - 1) * tensor.stride(dim);
  }
  const auto* begin = static_cast<const std::byte*>(tensor.const_data_ptr());
  return {begin, begin + (last + 1) * tensor.element_size(), writes};
}

// A tensor of the CPU over the memory of a tensor of the device.
at::Tensor on_cpu(const at::Tensor& tensor) {
  const auto options = tensor.options().device(at::kCPU);
  if (tensor.numel() == 0) return at::empty(tensor.sizes(), options);
  return at::from_blob(runtime().memory.kernel_view(tensor.const_data_ptr()),
                       tensor.sizes(), tensor.strides(), options);
}

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout> /*layout*/,
                 std::optional<at::Device> device, std::optional<bool> /*pin*/,
                 std::optional<at::MemoryFormat> format) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_generic(size, c10::GetAllocator(at::kPrivateUse1),
                                   kKeys, c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride,
                         std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout> /*layout*/,
                         std::optional<at::Device> device,
                         std::optional<bool> /*pin*/) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_strided_generic(size, stride,
                                           c10::GetAllocator(at::kPrivateUse1),
                                           kKeys, c10::dtype_or_default(dtype));
}

// A call of an operator: its arguments, moved to the CPU and back.
class Call {
 public:
  Call(const c10::OperatorHandle& op, torch::jit::Stack& stack)
      : op_(op), stack_(stack) {}

  void run() {
    const auto& arguments = op_.schema().arguments();
    const std::size_t first = stack_.size() - arguments.size();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const c10::AliasInfo* alias = arguments[i].alias_info();
      stack_[first + i] =
          moved(stack_[first + i], alias != nullptr && alias->isWrite());
    }
    TORCH_CHECK(device_.has_value(), op_.schema().name(),
                ": no tensor says on which device");
    op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack_);
    const std::size_t results = op_.schema().returns().size();
    for (std::size_t i = stack_.size() - results; i < stack_.size(); ++i) {
      stack_[i] = back(stack_[i]);
    }
    runtime().checker.launch(DeviceRuntime::current(*device_),
                             op_.schema().name(), uses_);
  }

 private:
  at::Tensor moved(const at::Tensor& tensor, bool writes) {
    if (!is_ours(tensor)) return tensor;
    TORCH_CHECK(!device_ || *device_ == tensor.device(), op_.schema().name(),
                " takes tensors of two devices");
    device_ = tensor.device();
    uses_.push_back(use_of(tensor, writes));
    pairs_.push_back({tensor, on_cpu(tensor)});
    return pairs_.back().second;
  }

  c10::IValue moved(const c10::IValue& value, bool writes) {
    if (value.isTensor()) return moved(value.toTensor(), writes);
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) {
        list.push_back(moved(tensor, writes));
      }
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const std::optional<at::Tensor>& tensor :
           value.toOptionalTensorVector()) {
        list.push_back(tensor ? std::optional(moved(*tensor, writes))
                              : std::nullopt);
      }
      return list;
    }
    if (value.isDevice()) return c10::Device(at::kCPU);
    return value;
  }

  // An argument that is returned, or a new tensor.
  at::Tensor back(const at::Tensor& result) {
    if (!result.defined()) return result;
    for (const auto& [tensor, alias] : pairs_) {
      if (!result.is_same(alias)) continue;
      if (result.sizes() != tensor.sizes()) take_over(tensor, made_of(result));
      return tensor;
    }
    return made_of(result);
  }

  // Makes a tensor of the device with the numbers of `result`.
  at::Tensor made_of(const at::Tensor& result) {
    at::Tensor made =
        empty_strided(result.sizes(), result.strides(), result.scalar_type(),
                      std::nullopt, *device_, std::nullopt);
    if (made.numel() > 0) on_cpu(made).copy_(result);
    uses_.push_back(use_of(made, /*writes=*/true));
    return made;
  }

  // Replaces the storage of an empty argument that the operator has resized.
  void take_over(const at::Tensor& tensor, const at::Tensor& made) const {
    TORCH_CHECK(tensor.numel() == 0, op_.schema().name(),
                " resizes an argument that is not empty");
    at::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    impl->set_storage_keep_dtype(made.storage());
    impl->set_sizes_and_strides(made.sizes(), made.strides());
  }

  c10::IValue back(const c10::IValue& value) {
    if (value.isTensor()) return back(value.toTensor());
    if (!value.isTensorList()) return value;
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      list.push_back(back(tensor));
    }
    return list;
  }

  const c10::OperatorHandle& op_;
  torch::jit::Stack& stack_;
  std::optional<at::Device> device_;
  std::vector<Use> uses_;
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs_;  // (device's, CPU's)
};

void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  Call(op, *stack).run();
}

void wait_for_stream(at::Device device) {
  OrderChecker& checker = runtime().checker;
  checker.host_wait(device.index(),
                    checker.record(DeviceRuntime::current(device)));
  runtime().return_pinned();
}

// Runs an operator whose result has as many elements as it finds, so that the
// host must wait.
void run_and_wait(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const at::Device device = stack->front().toTensor().device();
  Call(op, *stack).run();
  wait_for_stream(device);
}

at::Scalar read_number(const at::Tensor& tensor) {
  runtime().checker.launch(DeviceRuntime::current(tensor.device()), "item",
                           {use_of(tensor, false)});
  wait_for_stream(tensor.device());
  return on_cpu(tensor).item();
}

// Copies between devices, as CUDA does: on the source's current stream, which
// first waits for the destination's, and which the destination's then waits
// for.
void copy_between(const at::Tensor& from, const at::Tensor& to) {
  OrderChecker& checker = runtime().checker;
  const int source = DeviceRuntime::current(from.device());
  const int destination = DeviceRuntime::current(to.device());
  if (source != destination) checker.wait(source, checker.record(destination));
  on_cpu(to).copy_(on_cpu(from));
  checker.launch(source, "copy_", {use_of(from, false), use_of(to, true)});
  if (source != destination) checker.wait(destination, checker.record(source));
}

// Copies between host and device. The host waits, unless it asks not to and its
// memory is pinned; the copy then owns that memory until the host knows that it
// is done.
void copy_with_host(const at::Tensor& from, const at::Tensor& to,
                    bool non_blocking) {
  const bool to_device = is_ours(to);
  const at::Tensor& ours = to_device ? to : from;
  const at::Tensor& host = to_device ? from : to;
  if (to_device) {
    on_cpu(to).copy_(from);
  } else {
    to.copy_(on_cpu(from));
  }
  const int stream = DeviceRuntime::current(ours.device());
  const std::uint64_t number = runtime().checker.launch(
      stream, to_device ? "copy to the device" : "copy to the host",
      {use_of(ours, to_device)});
  if (non_blocking && runtime().pinned.contains(host.const_data_ptr())) {
    runtime().lend_pinned(host.storage().data(), stream, number,
                          to_device ? PROT_READ : PROT_NONE);
  } else {
    wait_for_stream(ours.device());
  }
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to,
                     bool non_blocking) {
  if (from.numel() == 0) return to;
  if (is_ours(from) && is_ours(to)) {
    copy_between(from.expand(to.sizes()), to);
  } else {
    copy_with_host(from.expand(to.sizes()), to, non_blocking);
  }
  return to;
}

}  // namespace

void register_device_operators() {
  static torch::Library fallback(torch::Library::IMPL, "_",
                                 c10::DispatchKey::PrivateUse1, __FILE__,
                                 __LINE__);
  fallback.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
  static torch::Library aten(torch::Library::IMPL, "aten",
                             c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  aten.impl("empty.memory_format", &empty);
  aten.impl("empty_strided", &empty_strided);
  aten.impl("as_strided", &at::native::as_strided_tensorimpl);
  aten.impl("view", &at::native::view);
  aten.impl("_reshape_alias", &at::native::_reshape_alias);
  aten.impl("_copy_from", &copy_from);
  aten.impl("_local_scalar_dense", &read_number);
  // libtorch would compose these operators of others, whose bits differ from
  // the CPU's.
  for (const char* name : {"native_layer_norm", "silu_backward"}) {
    aten.impl(name, torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
  }
  aten.impl("nonzero",
            torch::CppFunction::makeFromBoxedFunction<&run_and_wait>());
}

}  // namespace chimera::testing
