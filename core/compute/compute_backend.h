// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/compute: arithmetic on many elements: by the processor, or by a device that a module drives, and
// the choice between them. Start with ComputeBackend, then chooseCompute() (compute_choice.h).

#include "core/tensor/comparison.h"
#include "core/tensor/element_digest.h"
#include "core/tensor/statistics.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardscope {

/// Elements that become elements of another dtype, as convertElements() does it. canConvert(from, to) must
/// hold; `out` has room for as many elements as `in` holds, and overlaps nothing that is read.
struct ElementCast {
    DType from = DType::Unknown;
    std::span<const uint8_t> in;
    DType to = DType::Unknown;
    std::span<uint8_t> out;
};

/// Consecutive elements of one tensor, for a sum of their terms (element_digest.h).
struct ElementSum {
    DigestKey key;
    uint32_t itemBytes = 0;
    /// Where they are stored column by column; `first` is a stored number then.
    std::optional<TransposedOrder> order;
    uint64_t first = 0;
    std::span<const uint8_t> bytes; ///< whole elements; may be what a cast of the same call makes
    Digest digest; ///< the answer
};

/// Memory that a backend reads from and writes to faster than from other memory. Not cleared; begins
/// at a page.
using HostMemory = std::shared_ptr<uint8_t[]>;

/// Arithmetic over elements in memory. What one backend can do, all can, with the same bits but for the sums
/// that statistics.h and comparison.h name. Thread-safe: any number of threads call at once.
///
/// There are the plain backend, which every build has, and backends of modules that are loaded on request
/// (compute_modules.h).
class ComputeBackend
{
public:
    ComputeBackend() = default;
    virtual ~ComputeBackend() = default;
    ComputeBackend(const ComputeBackend&) = delete;
    ComputeBackend& operator=(const ComputeBackend&) = delete;

    /// As plainStatistics().
    virtual Statistics statistics(
        DType dtype, std::span<const uint8_t> bytes, ValueHistogram* histogram) const = 0;
    /// As plainComparison().
    virtual Comparison comparison(const TypedBytes& left, const TypedBytes& right, uint64_t firstElement,
        const Tolerance& tolerance) const = 0;
    /// All casts, then all sums: in one pass over the device where there is one.
    virtual void transform(std::span<const ElementCast> casts, std::span<ElementSum> sums) const = 0;

    /// "cpu", "cuda:0", "cuda:0,1".
    [[nodiscard]] virtual std::string device() const = 0;
    /// What does the arithmetic, for people: "plain code", "LibTorch 2.11.0", "NVIDIA H200".
    [[nodiscard]] virtual std::string name() const = 0;
    /// Min. bytes of one call for which the backend is faster.
    [[nodiscard]] virtual size_t batchBytes() const = 0;
    /// Memory for the inputs and outputs of calls.
    [[nodiscard]] virtual HostMemory hostMemory(size_t bytes) const;
    /// Problems, such as a lost device, in words; the results are still correct.
    [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
};

/// The backend that needs no library: the functions of this folder.
const ComputeBackend& plainBackend();

/// One sum, as plain code computes it.
Digest plainSum(const ElementSum& sum);

} // namespace shardscope
