// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/stored_run.h"
#include "core/partition/flat_partition.h"
#include "core/tensor/boxes.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace shardscope {

/// Elements of one parameter that follow each other in a file.
struct StoredPiece {
    const StoredRun& run; ///< absent if they are not stored. It may have fewer elements than the piece needs
    uint64_t runOffset = 0; ///< the first element inside the run
    uint64_t paramOffset = 0; ///< the first element inside the flattened parameter, in stored order
    uint64_t elements = 0;

    /// How many of the elements are stored: the first ones.
    [[nodiscard]] uint64_t stored() const
    {
        const uint64_t held = run.isPresent() && run.elements > runOffset ? run.elements - runOffset : 0;
        return held < elements ? held : elements;
    }
};

/// One stored run and the elements of a unit that it holds.
struct MappedRun {
    const StoredRun& run; ///< absent if they are not stored
    uint32_t share = 0; ///< rank in the unit's partition
    /// The position in FlatUnit::params of the parameter that it holds, or a part of. Unset: it is the
    /// share's flat buffer, from the first element.
    std::optional<uint32_t> param{};
    uint64_t first = 0; ///< its first element inside the flattened parameter; 0 for flat buffers and boxes
    const Box* box = nullptr; ///< set if it holds a box of the parameter, row by row
    const Shape* shape = nullptr; ///< of the parameter, if `box` is set

    /// The parameters' parts in the run, in its order, without padding. `visit` gets the position of the
    /// parameter.
    void forEachPiece(const FlatPartition& partition,
        const std::function<void(uint32_t param, const StoredPiece&)>& visit) const;
    /// The element of the share that is the `number`-th of the run. Nothing if the share does not have it.
    [[nodiscard]] std::optional<uint64_t> shareElement(const FlatPartition& partition, uint64_t number) const;
};

/// Where the elements of one state of a unit are stored: a forward function (from elements to runs) and an
/// inverse one (from runs to elements). Each form is one small class. To add a form, add a class here, let a
/// reader make it, and let MappedRun do the inverse. How it is written: core/plan/compose/segment_cursors.h.
///
/// `shares` is UnitState::perRank. Immutable after reading, and then thread-safe.
class ElementMap
{
public:
    using Shares = std::span<const StoredRun>;
    /// Returns false to stop; then the visiting function returns false, too.
    using PieceVisit = std::function<bool(const StoredPiece&)>;
    using RunVisit = std::function<bool(const MappedRun&)>;

    virtual ~ElementMap() = default;
    /// Forward: what stores the elements of a piece of the partition, in the parameter's order. Elements that
    /// no box or several boxes have are left out. Of padding, flat buffers have one piece with its run;
    /// other forms do not store it.
    virtual bool visitPiece(Shares shares, const FlatPiece& piece, const PieceVisit& visit) const = 0;
    /// Inverse: every run, absent ones included.
    virtual bool visitRuns(Shares shares, const RunVisit& visit) const = 0;
    /// Whether each share is one run with the rank's flat buffer, padding included.
    [[nodiscard]] virtual bool isFlat() const { return false; }
    /// The run of each parameter, by its position in FlatUnit::params. Empty unless every parameter is one
    /// tensor.
    [[nodiscard]] virtual Shares tensors() const { return {}; }
};

/// One flat buffer per rank: ZeRO-1/2 groups, ZeRO-3 sub-groups, frozen parameters. Used if a state has no
/// other form.
class BufferMap : public ElementMap
{
public:
    bool visitPiece(Shares shares, const FlatPiece& piece, const PieceVisit& visit) const override;
    bool visitRuns(Shares shares, const RunVisit& visit) const override;
    [[nodiscard]] bool isFlat() const override { return true; }
};

/// Whole units: each parameter is a tensor of its own.
class TensorMap : public ElementMap
{
public:
    explicit TensorMap(std::vector<StoredRun> tensors)
        : m_tensors(std::move(tensors))
    {
    }
    bool visitPiece(Shares shares, const FlatPiece& piece, const PieceVisit& visit) const override;
    bool visitRuns(Shares shares, const RunVisit& visit) const override;
    [[nodiscard]] Shares tensors() const override { return m_tensors; }
    /// For readers, before the checkpoint is shared.
    void append(const StoredRun& tensor) { m_tensors.push_back(tensor); }

private:
    std::vector<StoredRun> m_tensors;
};

/// Elastic ZeRO-3: each rank stores its part of each parameter as a tensor of its own, without padding.
class SliceMap : public ElementMap
{
public:
    struct Slice {
        StoredRun run;
        uint64_t first = 0; ///< its first element inside the flattened parameter
    };
    /// The index of a slice is rank × `params` + position of the parameter.
    SliceMap(std::vector<Slice> slices, size_t params)
        : m_slices(std::move(slices))
        , m_params(params)
    {
    }
    bool visitPiece(Shares shares, const FlatPiece& piece, const PieceVisit& visit) const override;
    bool visitRuns(Shares shares, const RunVisit& visit) const override;

private:
    std::vector<Slice> m_slices;
    size_t m_params;
};

/// Whole units of one parameter that is stored in boxes, as in distributed checkpoints.
class BoxMap : public ElementMap
{
public:
    /// One run per box.
    BoxMap(Shape shape, std::vector<Box> boxes, std::vector<StoredRun> runs)
        : m_shape(std::move(shape))
        , m_boxes(std::move(boxes))
        , m_runs(std::move(runs))
    {
    }
    bool visitPiece(Shares shares, const FlatPiece& piece, const PieceVisit& visit) const override;
    bool visitRuns(Shares shares, const RunVisit& visit) const override;

private:
    Shape m_shape;
    std::vector<Box> m_boxes;
    std::vector<StoredRun> m_runs;
};

} // namespace shardscope
