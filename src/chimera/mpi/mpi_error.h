// Turns MPI's return codes into CommError.
#pragma once

namespace chimera {

// Throws CommError with MPI's own text unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

}  // namespace chimera
