// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/zero/zenflow.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/reading_state.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>

namespace shardscope {

namespace {

constexpr uint64_t kPiecesPerUnit = 4; ///< per rank
constexpr uint64_t kElements = 32; ///< per piece, spread over it

/// Counts masters that are nearer to the copy in one order than to the copy in the other.
struct OrderVotes {
    static constexpr uint64_t kMin = 16; ///< fewer samples prove too little

    uint64_t transposed = 0;
    uint64_t plain = 0;

    void add(const OrderVotes& other)
    {
        transposed += other.transposed;
        plain += other.plain;
    }
    [[nodiscard]] uint64_t all() const { return transposed + plain; }
    [[nodiscard]] bool sayTransposed() const { return all() >= kMin && 4 * transposed >= 3 * all(); }
    [[nodiscard]] bool sayPlain() const { return all() >= kMin && 4 * plain >= 3 * all(); }
    [[nodiscard]] bool sayNeither() const { return all() >= kMin && !sayTransposed() && !sayPlain(); }
};

std::optional<TransposedOrder> orderOf(const Parameter& param)
{
    if (param.shape.size() != 2 || param.shape[0] < 2 || param.shape[1] < 2)
        return std::nullopt;
    return TransposedOrder{param.shape[0], param.shape[1]};
}

class OrderVote
{
public:
    explicit OrderVote(const Reading& reading)
        : m_reading(reading)
        , m_out(reading.out)
    {
    }

    OrderVotes ofRank(uint32_t dpRank)
    {
        OrderVotes votes;
        for (const FlatUnit& unit : m_out.units) {
            const auto share = unit.partitionRankOf(dpRank);
            if (unit.kind != UnitKind::Group || unit.states.empty() || !share)
                continue;
            const StoredRun& run = unit.states.front().perRank[*share];
            const io::ReadFile* shard = run.isPresent() ? open(run.file) : nullptr;
            if (shard == nullptr)
                continue;
            uint64_t pieces = 0;
            unit.partition.forEachPiece(*share, 0, run.elements, [&](const FlatPiece& piece) {
                if (!piece.isPadding() && compare(unit, run, *shard, piece, votes))
                    ++pieces;
                return pieces < kPiecesPerUnit && !m_reading.job.cancelled();
            });
        }
        return votes;
    }

private:
    /// Whether the piece's parameter could be compared.
    bool compare(const FlatUnit& unit, const StoredRun& run, const io::ReadFile& shard,
        const FlatPiece& piece, OrderVotes& votes)
    {
        const ParamId id = unit.params[piece.param];
        const auto order = orderOf(m_out.params[index(id)]);
        const WholeTensor* copy = m_out.wholeOf(id);
        if (!order || copy == nullptr || !isFloatingPoint(copy->dtype)
            || !isFloatingPoint(unit.states.front().dtype)
            || m_out.params[index(id)].elements != order->rows * order->columns)
            return false;
        const DType type = unit.states.front().dtype;
        for (uint64_t i = 0; i < std::min(piece.elements, kElements); ++i) {
            const uint64_t at = i * piece.elements / std::min(piece.elements, kElements);
            const uint64_t stored = piece.paramOffset + at;
            const auto master
                = valueAt(shard, type, run.byteOffset + (piece.flatOffset + at) * itemSize(type));
            const auto own = copyAt(*copy, *order, order->elementOf(stored));
            const auto other = copyAt(*copy, *order, stored);
            if (!master || !own || !other)
                continue;
            const double transposed = std::abs(*master - *own);
            const double plain = std::abs(*master - *other);
            votes.transposed += transposed < plain ? 1 : 0;
            votes.plain += plain < transposed ? 1 : 0;
        }
        return true;
    }

    std::optional<double> copyAt(const WholeTensor& copy, const TransposedOrder& order, uint64_t element)
    {
        const io::ReadFile* file = open(copy.run.file);
        uint64_t offset = element;
        if (!copy.contiguous && copy.strides.size() == 2)
            offset = element / order.columns * copy.strides[0] + element % order.columns * copy.strides[1];
        return file == nullptr
            ? std::nullopt
            : valueAt(*file, copy.dtype, copy.run.byteOffset + offset * itemSize(copy.dtype));
    }

    /// Nothing if it cannot be read, which other checks report, or is not a number.
    static std::optional<double> valueAt(const io::ReadFile& file, DType type, uint64_t byte)
    {
        std::array<uint8_t, 16> bytes{};
        const auto item = std::span(bytes).first(itemSize(type));
        if (!file.readAt(byte, item))
            return std::nullopt;
        const double value = elementAsDouble(type, item.data());
        return std::isfinite(value) ? std::optional(value) : std::nullopt;
    }

    const io::ReadFile* open(FileId file)
    {
        if (!m_out.isReadable(file))
            return nullptr;
        const auto [entry, isNew] = m_files.try_emplace(index(file));
        if (isNew) {
            if (auto opened = m_reading.files.openRead(m_out.file(file).path))
                entry->second = std::move(*opened);
        }
        return entry->second.get();
    }

    const Reading& m_reading;
    const Checkpoint& m_out;
    std::map<uint32_t, std::unique_ptr<io::ReadFile>> m_files;
};

/// Whether copies are views of a flat buffer that stores the matrix column by column.
bool hasColumnViews(const Checkpoint& checkpoint)
{
    return std::any_of(checkpoint.whole.begin(), checkpoint.whole.end(), [&](const WholeTensor& whole) {
        const Parameter& param = checkpoint.params[index(whole.param)];
        return param.role == ParamRole::Trainable && orderOf(param) && !whole.contiguous
            && whole.strides == std::vector<uint64_t>{1, param.shape[0]};
    });
}

std::string countText(const OrderVotes& votes)
{
    return std::to_string(votes.transposed) + " of " + std::to_string(votes.all())
        + " sampled masters are nearer to the copies that columns give them, the others to those of rows";
}

/// If the masters of at least one file are near their copies, those of the others must be, too.
void markForeign(const Reading& reading, const std::vector<std::pair<FileId, OrderVotes>>& strange, bool any)
{
    Checkpoint& out = reading.out;
    if (strange.empty())
        return;
    if (!any) {
        out.files[index(out.templateModel)].status = FileStatus::Foreign;
        return reading.add(code::kStepMismatch, Severity::Error,
            "the model file's weights do not match the optimizer files: it is from another step or run",
            out.file(out.templateModel).name, {countText(strange.front().second)});
    }
    for (const auto& [file, votes] : strange) {
        out.files[index(file)].status = FileStatus::Foreign;
        reading.add(code::kRankForeign, Severity::Error,
            "the rank's masters do not match the model file's weights: it is from another step or run",
            out.file(file).name, {countText(votes)});
    }
}

} // namespace

bool hasZenFlow(const Checkpoint& checkpoint)
{
    if (checkpoint.zenflow)
        return true;
    if (checkpoint.templateModel == kNoFile || !checkpoint.file(checkpoint.templateModel).content)
        return false;
    const PickleGraph& graph = checkpoint.file(checkpoint.templateModel).content->pickle();
    NodeId node = lookup(graph, graph.root(), "ds_config");
    for (const std::string_view key : {"zero_optimization", "zenflow"})
        node = node == kNoNode ? kNoNode : lookup(graph, node, key);
    return node != kNoNode && graph.kind(node) != NodeKind::None;
}

bool showsZenFlow(const Reading& reading)
{
    return hasZenFlow(reading.out) || hasColumnViews(reading.out);
}

Status decideZenFlow(Reading& reading)
{
    Checkpoint& out = reading.out;
    const bool configured = hasZenFlow(reading.out);
    const bool columnViews = hasColumnViews(out);
    if (!configured && !columnViews)
        return {};
    if (!isZero12(out.kind) && configured)
        return fail(
            ErrorCode::Unsupported, "ZenFlow is set, and its optimizer files are not ZeRO-1's or -2's");
    if (!isZero12(out.kind))
        return {};
    if (configured && (reading.modelRanks > 1 || out.parallel.ep > 1))
        return fail(ErrorCode::Unsupported,
            "this build does not support ZenFlow with model-parallel ranks or experts");
    out.zenflow = configured && columnViews;
    if (reading.depth != OpenDepth::Full)
        return {};
    OrderVotes all;
    std::vector<std::pair<FileId, OrderVotes>> strange;
    OrderVote vote(reading);
    for (uint32_t rank = 0; rank < out.optimFiles.size() && !reading.job.cancelled(); ++rank) {
        const OrderVotes votes = vote.ofRank(rank);
        if (votes.sayNeither())
            strange.emplace_back(out.optimFiles[rank], votes);
        else
            all.add(votes);
    }
    if (all.sayTransposed() && !configured)
        reading.add(code::kParamOrder, Severity::Warning,
            "ds_config does not have ZenFlow on, but the masters of matrices are stored column by column, as "
            "ZenFlow stores them",
            out.file(out.templateModel).name, {countText(all), "the resumed run must have it on"});
    out.zenflow = all.sayTransposed() || (out.zenflow && !all.sayPlain());
    if (out.zenflow)
        out.evidence.push_back("matrices are stored column by column (ZenFlow): "
            + (all.sayTransposed() ? countText(all) : std::string("their copies are views of columns")));
    else if (configured)
        out.evidence.push_back("ZenFlow, with matrices stored row by row: "
            + (all.sayPlain() ? countText(all) : std::string("their copies are no views of columns")));
    markForeign(reading, strange, all.all() > 0);
    return {};
}

} // namespace shardscope
