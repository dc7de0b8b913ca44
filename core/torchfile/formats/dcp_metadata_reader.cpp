// SPDX-License-Identifier: Apache-2.0
#include "core/base/checked.h"
#include "core/base/text.h"
#include "core/torchfile/formats/dcp_metadata.h"
#include "core/torchfile/pickle/pickle_machine.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace shardscope {

namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
constexpr size_t kMaxDimensions = 64; ///< torch's own limit of what takes several tensors
constexpr std::string_view kModule = "torch.distributed.checkpoint.metadata";

/// One folder's metadata, from the pickle to entries.
class MetadataReader
{
public:
    MetadataReader(const PickleGraph& graph, std::string path)
        : m_graph(graph)
        , m_path(std::move(path))
    {
    }

    Result<std::vector<DcpEntry>> read()
    {
        const auto root = asObject(m_graph, m_graph.root());
        if (!root || root->className != "Metadata" || root->module != kModule)
            return bad("it is not a Metadata object of torch.distributed.checkpoint");
        SHARDSCOPE_CHECK(readPlaces(lookup(m_graph, root->attributes, "storage_data")));
        const auto described
            = mappingItems(m_graph, lookup(m_graph, root->attributes, "state_dict_metadata"));
        const NodeId paths = lookup(m_graph, root->attributes, "planner_data");
        std::map<std::string_view, std::pair<NodeId, size_t>> pathOf;
        const auto pathItems = mappingItems(m_graph, paths);
        for (size_t i = 0; i + 1 < pathItems.size(); i += 2) {
            if (const auto key = asString(m_graph, pathItems[i]))
                pathOf[*key] = {pathItems[i + 1], i};
        }
        std::vector<DcpEntry> out;
        std::vector<size_t>
            positions; // torch shuffles the entries to balance what ranks write, not the paths
        for (size_t i = 0; i + 1 < described.size(); i += 2) {
            const auto key = asString(m_graph, described[i]);
            if (!key)
                return bad("a key is not text");
            DcpEntry entry;
            entry.key = *key;
            const auto path = pathOf.find(*key);
            if (path != pathOf.end())
                readPath(path->second.first, entry);
            positions.push_back(path != pathOf.end() ? path->second.second : pathItems.size());
            SHARDSCOPE_CHECK(describeEntry(described[i + 1], entry));
            out.push_back(std::move(entry));
        }
        return inOrder(std::move(out), positions);
    }

private:
    static std::vector<DcpEntry> inOrder(std::vector<DcpEntry> entries, const std::vector<size_t>& positions)
    {
        std::vector<size_t> order(entries.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::ranges::stable_sort(order, {}, [&](size_t i) { return positions[i]; });
        std::vector<DcpEntry> out;
        for (const size_t i : order)
            out.push_back(std::move(entries[i]));
        return out;
    }

    [[nodiscard]] tl::unexpected<Error> bad(const std::string& what) const
    {
        return fail(ErrorCode::Damaged, "the metadata of the checkpoint are invalid: " + what, m_path);
    }
    [[nodiscard]] tl::unexpected<Error> bad(const std::string& key, const std::string& what) const
    {
        return bad("`" + toValidUtf8(key) + "` " + what);
    }

    [[nodiscard]] std::optional<uint64_t> asCount(NodeId mapping, std::string_view key) const
    {
        const auto value = asInteger(m_graph, lookup(m_graph, mapping, key));
        return value && *value >= 0 ? std::optional(static_cast<uint64_t>(*value)) : std::nullopt;
    }

    Status readPlaces(NodeId stored)
    {
        if (!isMapping(m_graph, stored))
            return bad("it does not say where anything is stored");
        const auto items = mappingItems(m_graph, stored);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto at = asObject(m_graph, items[i]);
            const auto info = asObject(m_graph, items[i + 1]);
            const auto key = at ? asString(m_graph, lookup(m_graph, at->attributes, "fqn")) : std::nullopt;
            if (!key || !info)
                return bad("a storage entry has the wrong form");
            const auto file = asString(m_graph, lookup(m_graph, info->attributes, "relative_path"));
            const auto offset = asCount(info->attributes, "offset");
            const auto bytes = asCount(info->attributes, "length");
            if (!file || !offset || !bytes || !checkedAdd(*offset, *bytes))
                return bad(std::string(*key), "has no place in a file");
            if (file->empty() || file->front() == '.' || file->find('/') != std::string_view::npos
                || file->find('\0') != std::string_view::npos || file->size() > 255)
                return fail(ErrorCode::Hostile,
                    "the metadata of the checkpoint point outside its folder: `"
                        + toValidUtf8(std::string(file->substr(0, 100))) + "`",
                    m_path);
            const NodeId transforms = lookup(m_graph, info->attributes, "transform_descriptors");
            if (transforms != kNoNode && !sequenceItems(m_graph, transforms).empty())
                return fail(ErrorCode::Unsupported,
                    "the checkpoint's files are transformed (" + nodeText(m_graph, transforms)
                        + "), which this build cannot reverse",
                    m_path);
            const auto offsets = asShape(m_graph, lookup(m_graph, at->attributes, "offset"));
            m_places[std::string(*key)].emplace(offsets, DcpPlace{std::string(*file), *offset, *bytes});
        }
        return {};
    }

    void readPath(NodeId node, DcpEntry& entry) const
    {
        for (const NodeId step : sequenceItems(m_graph, node)) {
            if (const auto text = asString(m_graph, step))
                entry.path.emplace_back(std::string(*text));
            else if (const auto number = asInteger(m_graph, step))
                entry.path.emplace_back(*number);
        }
    }

    Status describeEntry(NodeId node, DcpEntry& entry)
    {
        // A class without attributes has no state, and is seen by its name.
        const auto object = asObject(m_graph, node);
        const bool isCall = m_graph.kind(node) == NodeKind::NewObj || m_graph.kind(node) == NodeKind::Reduce;
        if (isCall && isGlobal(m_graph, m_graph.callable(node), kModule, "BytesStorageMetadata")) {
            const auto places = m_places.find(entry.key);
            if (places == m_places.end() || places->second.size() != 1)
                return bad(entry.key, "is stored in no place, or in several");
            entry.place = places->second.begin()->second;
            return {};
        }
        if (!object || object->className != "TensorStorageMetadata")
            return bad(entry.key, "is neither a tensor nor bytes");
        entry.isTensor = true;
        return describeTensor(object->attributes, entry);
    }

    Status describeTensor(NodeId attributes, DcpEntry& entry)
    {
        const NodeId properties = lookup(m_graph, attributes, "properties");
        const auto shape = asShape(m_graph, lookup(m_graph, attributes, "size"));
        if (!shape || !elementCount(*shape))
            return bad(entry.key, "has no size");
        if (shape->size() > kMaxDimensions)
            return bad(entry.key, "has more dimensions than torch computes with");
        entry.shape = *shape;
        if (properties == kNoNode)
            return bad(entry.key, "has no properties");
        const NodeId state = m_graph.state(properties);
        const auto parts = sequenceItems(m_graph, state);
        const NodeId dtype = parts.empty() ? kNoNode : parts.front();
        if (dtype == kNoNode || m_graph.kind(dtype) != NodeKind::Global
            || m_graph.globalModule(dtype) != "torch")
            return bad(entry.key, "has no dtype");
        entry.dtype = dtypeFromName(std::string(m_graph.globalName(dtype))).value_or(DType::Unknown);
        if (entry.dtype == DType::Unknown)
            return fail(ErrorCode::Unsupported,
                "`" + toValidUtf8(entry.key) + "` has elements of "
                    + toValidUtf8(std::string(m_graph.globalName(dtype)))
                    + ", which this build does not know",
                m_path);
        for (const NodeId chunk : sequenceItems(m_graph, lookup(m_graph, attributes, "chunks")))
            SHARDSCOPE_CHECK(addChunk(chunk, entry));
        return checkCover(entry);
    }

    Status addChunk(NodeId node, DcpEntry& entry)
    {
        const auto object = asObject(m_graph, node);
        const auto offsets
            = object ? asShape(m_graph, lookup(m_graph, object->attributes, "offsets")) : std::nullopt;
        const auto sizes
            = object ? asShape(m_graph, lookup(m_graph, object->attributes, "sizes")) : std::nullopt;
        if (!offsets || !sizes || offsets->size() != entry.shape.size()
            || sizes->size() != entry.shape.size())
            return bad(entry.key, "has a chunk without offsets and sizes");
        for (size_t i = 0; i < sizes->size(); ++i) {
            const auto end = checkedAdd((*offsets)[i], (*sizes)[i]);
            if (!end || *end > entry.shape[i])
                return bad(entry.key, "has a chunk outside its size");
        }
        DcpChunk chunk{*offsets, *sizes, {}};
        const auto places = m_places.find(entry.key);
        if (places != m_places.end()) {
            const auto place = places->second.find(chunk.offsets);
            if (place != places->second.end()) {
                chunk.place = place->second;
                entry.chunks.push_back(std::move(chunk));
                return {};
            }
        }
        return bad(entry.key, "has a chunk that is stored nowhere");
    }

    /// Of chunks that several ranks saved only the first is used, so that chunks cover the tensor once.
    Status checkCover(DcpEntry& entry)
    {
        std::set<std::pair<Shape, Shape>> known;
        std::vector<Box> boxes;
        std::erase_if(entry.chunks,
            [&](const DcpChunk& chunk) { return !known.emplace(chunk.offsets, chunk.sizes).second; });
        for (const DcpChunk& chunk : entry.chunks)
            boxes.push_back(chunk.box());
        if (!coverOnce(entry.shape, boxes, m_effort))
            return bad(entry.key, "has chunks that overlap, or do not cover it");
        return {};
    }

    const PickleGraph& m_graph;
    std::string m_path;
    /// By key, and by the offsets of a tensor's chunk; the first of those that ranks saved alike.
    std::map<std::string, std::map<std::optional<Shape>, DcpPlace>> m_places;
    uint64_t m_effort = uint64_t{1} << 28; ///< of looking whether chunks cover tensors; a second or so
};

} // namespace

Result<std::vector<DcpEntry>> readDcpMetadata(io::FileSystem& files, const io::Path& folder, JobContext& job)
{
    const io::Path path = folder / kDcpMetadataName;
    SHARDSCOPE_TRY(std::string text, files.readSmall(path, kMaxBytes));
    const auto stream = std::make_shared<const std::string>(std::move(text));
    auto parsed = parsePickle(stream, {.streamBytes = kMaxBytes}, job);
    if (!parsed) {
        Error error = parsed.error();
        error.path = path.string();
        return forward(std::move(error));
    }
    const auto dangerous = std::find_if(parsed->findings.begin(), parsed->findings.end(),
        [](const Finding& finding) { return finding.severity == Severity::Error; });
    if (dangerous != parsed->findings.end())
        return fail(ErrorCode::Hostile, dangerous->message, path.string());
    return MetadataReader(parsed->graph, path.string()).read();
}

} // namespace shardscope
