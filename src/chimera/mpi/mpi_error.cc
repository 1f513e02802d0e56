#include "chimera/mpi/mpi_error.h"

#include <mpi.h>

#include <string>

#include "chimera/comm/comm_error.h"

namespace chimera {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommError(std::string(call) + ": " + std::string(text, length));
}

}  // namespace chimera
