// SPDX-License-Identifier: Apache-2.0
#include "core/plan/compose/archive_composer.h"

#include "core/checkpoint/model/file_names.h"
#include "core/plan/compose/segment_cursors.h"
#include "core/torchfile/pickle/pickle_emitter.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "core/torchfile/torch_file_records.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace shardscope {

namespace {

constexpr uint64_t kSmallRecordLimitBytes = 4096;
constexpr char kNewKeyMark = '+'; ///< torch's keys are decimal

/// The prefix of keys of new storages until they are numbered. It is longer than the start of any key in the
/// source, because a malicious file may use any key.
std::string newKeyMark(const TorchFile& source)
{
    size_t longest = 0;
    for (const StorageView& storage : source.storagesInOrder())
        longest = std::max(longest, std::min(storage.key.find_first_not_of(kNewKeyMark), storage.key.size()));
    return std::string(longest + 1, kNewKeyMark);
}

std::string stemOf(const std::string& name)
{
    const size_t dot = name.rfind('.');
    return dot == std::string::npos ? name : name.substr(0, dot);
}

} // namespace

std::vector<NodeId> persistentIdsInOrder(const PickleGraph& graph)
{
    std::vector<NodeId> out;
    std::vector<bool> seen(graph.nodeCount(), false);
    std::vector<NodeId> stack{graph.root()};
    std::vector<NodeId> children;
    while (!stack.empty()) {
        const NodeId node = stack.back();
        stack.pop_back();
        if (node == kNoNode || seen[index(node)])
            continue;
        seen[index(node)] = true;
        children.clear();
        switch (graph.kind(node)) {
        case NodeKind::PersistentId:
            out.push_back(node);
            children.push_back(graph.target(node));
            break;
        case NodeKind::List:
        case NodeKind::Tuple:
        case NodeKind::Dict:
        case NodeKind::Set:
        case NodeKind::FrozenSet:
            children.assign(graph.items(node).begin(), graph.items(node).end());
            break;
        case NodeKind::Reduce:
        case NodeKind::NewObj:
        case NodeKind::NewObjEx: {
            children = {graph.callable(node), graph.arguments(node)};
            const auto appended = graph.appendedItems(node);
            const auto set = graph.setItems(node);
            children.insert(children.end(), appended.begin(), appended.end());
            children.insert(children.end(), set.begin(), set.end());
            children.push_back(graph.state(node));
            break;
        }
        default:
            break;
        }
        stack.insert(stack.end(), children.rbegin(), children.rend());
    }
    return out;
}

std::vector<OutputRecord> recordsOfToday()
{
    const auto text = [](std::string name, std::string literal) {
        OutputRecord record;
        record.name = std::move(name);
        record.bytes = literal.size();
        record.literal = std::move(literal);
        return record;
    };
    std::vector<OutputRecord> out{text("data.pkl", ""), text(".format_version", "1"),
        text(".storage_alignment", "64"), text("byteorder", "little"), text("data/", ""),
        text("version", "3\n")};
    OutputRecord id;
    id.name = ".data/serialization_id";
    id.content = OutputRecord::Content::SerializationId;
    id.bytes = 40;
    out.push_back(std::move(id));
    return out;
}

Result<std::vector<OutputRecord>> readSmallRecords(io::FileSystem& files, const TorchFile& source)
{
    if (source.isLegacy() || source.isMade())
        return recordsOfToday(); // such files have no such records
    SHARDSCOPE_TRY(const auto file, files.openRead(source.path()));
    std::vector<OutputRecord> out;
    bool storagesPlaced = false;
    for (const ZipRecord& record : source.zip().records()) {
        OutputRecord small;
        small.name = record.name;
        if (record.name.starts_with("data/")) {
            if (storagesPlaced)
                continue;
            storagesPlaced = true;
            small.name = "data/";
        } else if (record.name == ".data/serialization_id") {
            small.content = OutputRecord::Content::SerializationId;
            small.bytes = 40;
        } else if (!isTorchRecord(record.name)) {
            continue; // no loader of the file would read it
        } else if (record.name != "data.pkl") {
            SHARDSCOPE_TRY(small.literal, readRecord(*file, record, kSmallRecordLimitBytes));
            small.bytes = small.literal.size();
        }
        out.push_back(std::move(small));
    }
    if (!storagesPlaced) { // after the pickle and the records that torch writes before the storages
        OutputRecord storages;
        storages.name = "data/";
        const auto version
            = std::find_if(out.begin(), out.end(), [](const auto& r) { return r.name == "version"; });
        out.insert(version, std::move(storages));
    }
    // It covers all other records, so torch writes it last. Other programs may have stored it anywhere.
    std::stable_partition(out.begin(), out.end(),
        [](const OutputRecord& record) { return record.content != OutputRecord::Content::SerializationId; });
    return out;
}

ArchiveComposer::ArchiveComposer(const TorchFile& source, uint32_t sourceIndex, Take take)
    : m_source(&source)
    , m_sourceIndex(sourceIndex)
    , m_newKeyMark(take == Take::Parts ? newKeyMark(source) : std::string(1, kNewKeyMark))
{
    m_importer.emplace(m_builder, source.pickle());
}

ArchiveComposer::ArchiveComposer()
    : m_newKeyMark(1, kNewKeyMark)
{
}

void ArchiveComposer::addEntries(NodeId to, NodeId mapping, const ValueOf& valueOf)
{
    const auto items = mappingItems(graph(), mapping);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const NodeId value = valueOf(asString(graph(), items[i]).value_or(""), items[i + 1]);
        if (value != kNoNode)
            m_builder.setItem(to, import(items[i]), value);
    }
}

NodeId ArchiveComposer::importChanged(NodeId mapping, const ValueOf& valueOf)
{
    const NodeId out = m_builder.dict();
    addEntries(out, mapping, valueOf);
    return out;
}

NodeId ArchiveComposer::importChanged(NodeId mapping, const Changes& changes)
{
    return importChanged(mapping, [&](std::string_view key, NodeId value) {
        const auto change = changes.find(key);
        return change == changes.end() ? import(value) : change->second;
    });
}

NodeId ArchiveComposer::orderedDict()
{
    if (m_orderedDictClass == kNoNode)
        m_orderedDictClass = m_builder.global("collections", "OrderedDict");
    return m_builder.reduce(m_orderedDictClass, m_builder.tuple({}));
}

NodeId ArchiveComposer::tensor(
    DType dtype, const std::vector<uint64_t>& shape, bool requiresGrad, CursorFactory cursor)
{
    uint64_t elements = 1;
    for (const uint64_t size : shape)
        elements *= size;
    return tensorOf(
        {.bytes = elements * itemSize(dtype), .cursor = std::move(cursor)}, dtype, shape, requiresGrad);
}

NodeId ArchiveComposer::smallTensor(DType dtype, const std::vector<uint64_t>& shape, std::string elements)
{
    const uint64_t bytes = elements.size();
    return tensorOf({.bytes = bytes, .literal = std::move(elements)}, dtype, shape, false);
}

NodeId ArchiveComposer::tensorOf(
    NewStorage storage, DType dtype, const std::vector<uint64_t>& shape, bool requiresGrad)
{
    if (m_rebuild == kNoNode) {
        m_rebuild = m_builder.global("torch._utils", "_rebuild_tensor_v2");
        m_storageWord = m_builder.string("storage");
        m_cpuWord = m_builder.string("cpu");
    }
    auto known = std::find_if(m_storageClasses.begin(), m_storageClasses.end(),
        [&](const auto& entry) { return entry.first == dtype; });
    if (known == m_storageClasses.end()) {
        m_storageClasses.emplace_back(dtype, m_builder.global("torch", storageClassOf(dtype)));
        known = std::prev(m_storageClasses.end());
    }
    uint64_t elements = 1;
    std::vector<NodeId> sizes;
    std::vector<NodeId> strides(shape.size());
    for (const uint64_t size : shape) {
        sizes.push_back(m_builder.integer(static_cast<int64_t>(size)));
        elements *= size;
    }
    int64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0;) {
        strides[i] = m_builder.integer(stride);
        stride *= static_cast<int64_t>(std::max<uint64_t>(shape[i], 1));
    }
    m_new.push_back(std::move(storage));
    const std::array id{m_storageWord, known->second,
        m_builder.string(m_newKeyMark + std::to_string(m_new.size() - 1)), m_cpuWord,
        m_builder.integer(static_cast<int64_t>(elements))};
    const std::array arguments{m_builder.persistentId(m_builder.tuple(id)), m_builder.integer(0),
        m_builder.tuple(sizes), m_builder.tuple(strides), m_builder.boolean(requiresGrad), orderedDict()};
    return m_builder.reduce(m_rebuild, m_builder.tuple(arguments));
}

Result<OutputFile> ArchiveComposer::finish(
    const std::string& outputName, const std::vector<OutputRecord>& smallRecords)
{
    return finish(m_importer->import(m_source->pickle().root()), outputName, smallRecords);
}

Result<OutputRecord> ArchiveComposer::storageRecord(const std::string& key, const std::string& name) const
{
    OutputRecord record;
    record.name = name;
    record.content = OutputRecord::Content::Segments;
    if (key.starts_with(m_newKeyMark)) {
        const NewStorage& made = m_new[std::stoul(key.substr(m_newKeyMark.size()))];
        if (!made.key.empty())
            return copiedRecord(made.key, name, made.first, made.bytes);
        record.bytes = made.bytes;
        record.cursor = made.cursor;
        record.literal = made.literal;
        if (!made.cursor)
            record.content = OutputRecord::Content::Literal;
        return record;
    }
    return copiedRecord(key, name, 0, std::nullopt);
}

Result<OutputRecord> ArchiveComposer::copiedRecord(
    const std::string& key, const std::string& name, uint64_t first, std::optional<uint64_t> bytes) const
{
    OutputRecord record;
    record.name = name;
    record.content = OutputRecord::Content::Segments;
    if (m_source == nullptr)
        return fail(ErrorCode::Internal, "a storage that belongs to no archive", name);
    if (const std::string* held = m_source->heldStorage(key)) {
        record.literal = bytes ? held->substr(first, *bytes) : *held;
        record.bytes = record.literal.size();
        record.content = OutputRecord::Content::Literal;
        return record;
    }
    const auto source = m_source->zip().find("data/" + key);
    if (!source)
        return fail(ErrorCode::Damaged, "record data/" + key + " is missing", m_source->path().string());
    const ZipRecord& from = m_source->zip().record(*source);
    if (from.damaged || from.deflated)
        return fail(
            ErrorCode::Damaged, "record data/" + key + " cannot be copied", m_source->path().string());
    if (bytes && (first > from.bytes || *bytes > from.bytes - first))
        return fail(ErrorCode::Damaged, "record data/" + key + " is shorter than its storage",
            m_source->path().string());
    record.bytes = bytes.value_or(from.bytes);
    record.cursor = m_recordCursor
        ? m_recordCursor(*source, from.payloadOffset + first, record.bytes)
        : wholeRecordCursor(m_sourceIndex, *source, from.payloadOffset + first, record.bytes);
    return record;
}

Result<OutputFile> ArchiveComposer::finish(
    NodeId root, const std::string& outputName, const std::vector<OutputRecord>& smallRecords)
{
    PickleGraph draft = m_builder.finish(root);

    // Number the storages in the order of their first mention.
    PickleBuilder builder;
    PickleImporter importer(builder, draft);
    std::unordered_map<std::string, std::pair<uint32_t, NodeId>> numbers;
    std::vector<OutputRecord> storages;
    for (const NodeId id : persistentIdsInOrder(draft)) {
        const auto storage = asStorage(draft, id);
        if (!storage)
            return fail(ErrorCode::Unsupported, "a persistent id of the pickle is not a storage", outputName);
        const std::string key(storage->key);
        auto [entry, isNew] = numbers.try_emplace(key, static_cast<uint32_t>(numbers.size()), kNoNode);
        if (isNew) {
            const std::string number = std::to_string(entry->second.first);
            entry->second.second = builder.string(number);
            SHARDSCOPE_TRY(OutputRecord record, storageRecord(key, "data/" + number));
            storages.push_back(std::move(record));
        }
        const auto parts = draft.items(draft.target(id));
        std::vector<NodeId> renumbered;
        for (size_t i = 0; i < parts.size(); ++i)
            renumbered.push_back(i == 2 ? entry->second.second : importer.import(parts[i]));
        importer.substitute(draft.target(id), builder.tuple(renumbered));
    }
    const PickleGraph graph = builder.finish(importer.import(draft.root()));
    draft = {}; // as large as the graph itself
    SHARDSCOPE_TRY(std::string pickle, emitPickle(graph));

    OutputFile out;
    out.path = outputName;
    // torch names the archive after the file. If a source was renamed, its archive still has the old name.
    out.prefix = stemOf(outputName.substr(outputName.rfind('/') + 1));
    if (m_source != nullptr) {
        const std::string& prefix = m_source->zip().prefix();
        const bool namedAfterFile = prefix == stemOf(m_source->path().filename().string())
            || parseCheckpointFileName(prefix + ".pt").has_value();
        if (!namedAfterFile)
            out.prefix = prefix;
    }
    for (const OutputRecord& small : smallRecords) {
        if (small.name == "data/") {
            std::move(storages.begin(), storages.end(), std::back_inserter(out.records));
            continue;
        }
        OutputRecord record = small;
        if (record.name == "data.pkl") {
            record.bytes = pickle.size();
            record.literal = std::move(pickle);
        }
        out.records.push_back(std::move(record));
    }
    return out;
}

} // namespace shardscope
