// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/base/wire.h"
#include "core/compare/diff/diff_regions.h"
#include "core/compare/diff/paired_states.h"
#include "core/compare/diff/state_scalars.h"
#include "core/compute/compute_backend.h"
#include "core/io/file_system.h"
#include "core/layout/fragments.h"
#include "core/tensor/comparison.h"

#include <array>
#include <optional>
#include <vector>

namespace shardscope {

/// The comparison of next steps: one without gradient, one with gradient 1.
struct StepComparison {
    Comparison withoutGradient;
    Comparison withUnitGradient;

    StepComparison& operator+=(const StepComparison& further);
};
/// The comparison of some elements of a parameter. Sides: 0 left, 1 right.
struct DiffPiece {
    std::vector<Comparison> states; ///< as PairedParam::states
    std::vector<std::array<bool, 2>> missing; ///< as PairedParam::states: elements that a side does not have
    struct Runs {
        ElementRuns different;
        std::array<ElementRuns, 2> lacking; ///< by side
    };
    std::vector<Runs> runs; ///< as PairedParam::states
    Comparison weights; ///< of the masters, or else of the weights
    /// Of no elements, and so without the length of a step, where all states are equal: then its steps are.
    std::optional<StepComparison> steps;
    std::array<uint64_t, 2> stale{}; ///< masters that differ from the copy after rounding
    std::array<bool, 2> rounded{true, true}; ///< all masters that differ have values of 16 bits

    /// Adds another piece of the same parameter. Steps that are not known of both are not known of the sum.
    DiffPiece& operator+=(const DiffPiece& further);
};

/// Two checkpoints that are read to be compared.
struct DiffInput {
    io::FileSystem& files;
    const Checkpoint& left;
    const Checkpoint& right;
    JobContext& job;
};

/// Reads and compares pieces of paired parameters. Thread-safe.
class DiffReader
{
public:
    DiffReader(const DiffInput& input, const Tolerance& tolerance, const ComputeBackend& backend);
    /// `measuresSteps`: also equal steps are calculated, for their length.
    Result<DiffPiece> read(
        const PairedParam& param, uint64_t begin, uint64_t end, bool measuresSteps = false) const;

private:
    struct Buffers;
    /// Elements [begin, end) of a parameter.
    struct Piece {
        const PairedParam& param;
        uint64_t begin = 0;
        uint64_t end = 0;
    };
    Result<std::vector<uint8_t>> load(size_t side, const StateRange& range, DType dtype) const;
    /// Number `i` of the paired states.
    Status compareState(const Piece& piece, size_t i, Buffers& buffers, DiffPiece& out) const;
    void compareElements(
        const TypedBytes& left, const TypedBytes& right, uint64_t begin, size_t i, DiffPiece& out) const;
    /// The same of the elements that both sides have, if they do not have all.
    Status comparePresent(const Piece& piece, size_t i, DiffPiece& out) const;
    [[nodiscard]] uint64_t staleCopies(size_t side, const Piece& piece, const Buffers& buffers) const;
    void compareNextSteps(const PairedParam& param, const Buffers& buffers, DiffPiece& out) const;

    io::FileSystem& m_files;
    std::array<const Checkpoint*, 2> m_sides;
    std::array<UpdateRules, 2> m_rules;
    std::array<bool, 2> m_copiesAhead{}; ///< ZenFlow: copies cannot be compared with masters
    Tolerance m_tolerance;
    const ComputeBackend& m_backend;
    JobContext& m_job;
};

template <class Io>
void wire(Io& io, Wired<ElementRuns> auto& runs)
{
    std::vector<DiffRun> all = runs.runs();
    io.list(all, 2 * ElementRuns::kMost); // while they are gathered
    if constexpr (Io::kReads) {
        runs = {};
        for (const DiffRun& run : all)
            runs.add(run.begin, run.end, run.count);
    }
}
void wire(auto& io, Wired<DiffPiece::Runs> auto& runs)
{
    io(runs.different, runs.lacking);
}
/// A piece between processes that share a comparison.
void wire(auto& io, Wired<DiffPiece> auto& piece)
{
    io(piece.states, piece.missing, piece.runs, piece.weights, piece.steps, piece.stale, piece.rounded);
}

} // namespace shardscope
