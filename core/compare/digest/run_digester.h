// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/file_scan.h"
#include "core/compare/digest/tensor_run.h"

#include <span>
#include <vector>

namespace shardscope {

/// Follows ascending runs through a stream of chunks and digests their elements, chunk by chunk. Keeps an
/// element that crosses a chunk border for the next chunk.
class RunDigester
{
public:
    /// Keeps references to `context` and `runs`.
    RunDigester(const ScanContext& context, const std::vector<TensorRun>& runs)
        : m_context(context)
        , m_runs(runs)
    {
    }

    /// The next bytes of the file; `offset`: of the first one. Adds the runs that end in them to `out`.
    void feed(uint64_t offset, std::span<const uint8_t> chunk, FoundTensors& out);

private:
    /// The sums of one chunk. A run has several where an element crosses a chunk border.
    class Sums
    {
    public:
        void push(const ElementSum& sum) { m_sums.push_back(sum); }
        void endRun() { m_ends.push_back(m_sums.size()); }
        [[nodiscard]] std::span<ElementSum> all() { return m_sums; }
        /// Once they were computed: the digests of the runs that ended. That of the run that continues stays.
        std::vector<Digest> take();

    private:
        std::vector<ElementSum> m_sums;
        std::vector<size_t> m_ends; ///< for each run that ends in this chunk: one past its last sum
        Digest m_open; ///< of the run that continues
    };

    void beginRun(const TensorRun& run);
    void add(const TensorRun& run, std::span<const uint8_t> bytes);
    void push(const TensorRun& run, std::span<const uint8_t> bytes);
    void pushRounded(const TensorRun& run, std::span<const uint8_t> bytes);
    void sumUp(FoundTensors& out);
    void endStatistics(size_t runs, std::vector<Statistics>& out);

    const ScanContext& m_context;
    const std::vector<TensorRun>& m_runs;
    size_t m_run = 0;
    size_t m_ended = 0; ///< runs in this chunk
    uint64_t m_done = 0; ///< elements of the run
    std::vector<uint8_t> m_carry; ///< the first bytes of an element at the end of the chunk
    std::vector<uint8_t> m_straddling; ///< an element from two chunks; at most one per chunk

    uint32_t m_keyed = 0xFFFFFFFFu; ///< the tensor that the following are of
    DigestKey m_key;
    DType m_dtype = DType::Unknown; ///< Unknown: no statistics
    DigestKey m_copyKey;
    DType m_roundsTo = DType::Unknown; ///< Unknown: it is no master with a 16-bit copy

    Sums m_sums;
    Sums m_rounded;
    std::vector<ElementCast> m_casts;
    std::vector<uint8_t> m_room; ///< for the elements of `m_casts`
    size_t m_used = 0; ///< of `m_room`
    /// Of the runs that ended in this chunk, and of the one that continues.
    std::vector<Statistics> m_statistics;
};

} // namespace shardscope
