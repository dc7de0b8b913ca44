// SPDX-License-Identifier: Apache-2.0
#include "core/report/npy_file.h"

#include <doctest/doctest.h>

using namespace shardscope;

TEST_CASE("a NumPy header as numpy writes it")
{
    // numpy.lib.format.write_array_header_1_0 for float32, shape (3, 4)
    const std::string expected = std::string("\x93NUMPY\x01\x00\x76\x00", 10)
        + "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" + std::string(58, ' ') + "\n";
    CHECK(npyHeader(DType::Float32, {3, 4}) == expected);
    CHECK(npyHeader(DType::Int64, {}).find("'shape': (), }") != std::string::npos);
    CHECK(npyHeader(DType::Bool, {7}).find("'descr': '|b1', 'fortran_order': False, 'shape': (7,), }")
        != std::string::npos);
    CHECK(npyHeader(DType::BFloat16, {7}).empty());
    for (uint64_t n = 1; n < 1'000'000'000'000; n *= 7)
        CHECK(npyHeader(DType::Float64, {n, n}).size() % 64 == 0);
}
