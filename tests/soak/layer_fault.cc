// An exception in a layer, put into a process by LD_PRELOAD: after SIGRTMIN the
// next layer norm throws, once.
//
// The function that stands before libtorch's own is a jump, so it hands on all
// arguments without knowing their types.
#include <dlfcn.h>
#include <signal.h>

#include <atomic>
#include <stdexcept>

#define LAYER_NORM                                                      \
  "_ZN2at4_ops10layer_norm4callERKNS_6TensorEN3c108ArrayRefINS5_6SymIn" \
  "tEEERKSt8optionalIS2_ESC_db"

extern "C" {

std::atomic<int> chimera_layer_fails;
void* chimera_real_layer_norm;

[[noreturn]] void chimera_layer_throws() {
  chimera_layer_fails = 0;
  throw std::runtime_error("a fault was planted in this layer");
}

__attribute__((constructor)) static void begin() {
  signal(SIGRTMIN, [](int) { chimera_layer_fails = 1; });
}

// The program opens libtorch by dlopen(), so its functions are found after
// that.
void* dlopen(const char* file, int flags) {
  using Open = void*(const char*, int);
  static const auto real = reinterpret_cast<Open*>(dlsym(RTLD_NEXT, "dlopen"));
  void* library = real(file, flags);
  if (chimera_real_layer_norm == nullptr) {
    void* torch = real("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    if (torch != nullptr) chimera_real_layer_norm = dlsym(torch, LAYER_NORM);
  }
  return library;
}

__attribute__((naked)) void chimera_layer_norm() __asm__(LAYER_NORM);
void chimera_layer_norm() {
  __asm__(
      "movq chimera_layer_fails@GOTPCREL(%rip), %rax\n"
      "cmpl $0, (%rax)\n"
      "jne 1f\n"
      "movq chimera_real_layer_norm@GOTPCREL(%rip), %rax\n"
      "jmp *(%rax)\n"
      "1: jmp chimera_layer_throws@PLT\n");
}

}  // extern "C"
