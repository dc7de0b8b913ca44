// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/torchfile/pickle/pickle_machine_state.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "core/torchfile/zip/counted_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace shardscope {

namespace {

using std::string_view;

constexpr std::array<string_view, 58> kDangerousModules{"os", "posix", "nt", "subprocess", "commands",
    "popen2", "sys", "runpy", "pty", "socket", "shutil", "importlib", "imp", "ctypes", "_ctypes",
    "webbrowser", "pip", "code", "codeop", "timeit", "platform", "asyncio", "bdb", "pdb", "cProfile",
    "profile", "trace", "doctest", "pickle", "_pickle", "cPickle", "dill", "cloudpickle", "marshal", "types",
    "pkgutil", "pydoc", "http", "httplib", "urllib", "urllib2", "requests", "aiohttp", "ftplib", "smtplib",
    "telnetlib", "ssl", "signal", "multiprocessing", "threading", "tempfile", "venv", "ensurepip",
    "distutils", "idlelib", "lib2to3", "winreg", "nturl2path"};

constexpr std::array<string_view, 17> kDangerousBuiltins{"eval", "exec", "execfile", "compile", "open",
    "file", "input", "raw_input", "__import__", "apply", "getattr", "setattr", "delattr", "globals", "locals",
    "vars", "breakpoint"};

constexpr std::array<string_view, 22> kDangerousNames{"functools.reduce", "operator.attrgetter",
    "operator.methodcaller", "operator.itemgetter", "_operator.attrgetter", "_operator.methodcaller",
    "_operator.itemgetter", "io.open", "_io.open", "_io.FileIO", "io.FileIO", "codecs.open",
    "linecache.getline", "linecache.updatecache", "logging.config.listen", "torch.load", "torch.hub.load",
    "torch.jit.load", "torch.serialization.load", "torch.utils.cpp_extension.load",
    "torch.utils.cpp_extension.load_inline", "numpy.testing._private.utils.runstring"};

constexpr std::array<string_view, 16> kKnownBuiltins{"set", "frozenset", "bytes", "bytearray", "complex",
    "slice", "range", "xrange", "list", "dict", "tuple", "int", "float", "str", "object", "Ellipsis"};

constexpr std::array<string_view, 7> kKnownModules{"deepspeed.runtime.fp16.loss_scaler",
    "deepspeed.runtime.zero.config", "deepspeed.utils.tensor_fragment", "torch._utils", "torch._tensor",
    "torch.storage", "torch_npu.utils.storage"};

constexpr std::array<string_view, 14> kKnownNames{"collections.OrderedDict", "collections.defaultdict",
    "collections.Counter", "_codecs.encode", "numpy.core.multiarray._reconstruct",
    "numpy.core.multiarray.scalar", "numpy._core.multiarray._reconstruct", "numpy._core.multiarray.scalar",
    "numpy.ndarray", "numpy.dtype", "torch.nn.parameter.Parameter", "torch.serialization._get_layout",
    "copyreg._reconstructor", "copy_reg._reconstructor"};

template <size_t N>
bool contains(const std::array<string_view, N>& list, string_view text)
{
    return std::find(list.begin(), list.end(), text) != list.end();
}

/// Whether `list` holds module + "." + name.
template <size_t N>
bool containsFull(const std::array<string_view, N>& list, string_view module, string_view name)
{
    return std::any_of(list.begin(), list.end(), [&](string_view full) {
        return full.size() == module.size() + 1 + name.size() && full.starts_with(module)
            && full[module.size()] == '.' && full.ends_with(name);
    });
}

bool isBuiltinModule(string_view module)
{
    return module == "builtins" || module == "__builtin__" || module == "__builtins__";
}

/// Any part of a dotted path: torch.storage.os.system reaches os as well.
bool namesDangerousModule(string_view path)
{
    while (!path.empty()) {
        const size_t dot = path.find('.');
        const string_view part = path.substr(0, dot);
        if (contains(kDangerousModules, part) || isBuiltinModule(part))
            return true;
        path = dot == string_view::npos ? string_view{} : path.substr(dot + 1);
    }
    return false;
}

bool startsWithDangerousModule(string_view module)
{
    return contains(kDangerousModules, module.substr(0, module.find('.')));
}

/// builtins.getattr in either spelling.
bool isGetattr(string_view module, string_view name)
{
    return isBuiltinModule(module) && name == "getattr";
}

/// Whether a global belongs to what torch, DeepSpeed and the standard containers put into checkpoints.
bool isKnownGlobal(string_view module, string_view name)
{
    if (isBuiltinModule(module))
        return contains(kKnownBuiltins, name) || name == "getattr";
    if (module == "torch" && name.find('.') == string_view::npos)
        return true; // storages, dtypes, Size, device
    return contains(kKnownModules, module) || containsFull(kKnownNames, module, name);
}

/// Whether Python would run commands or arbitrary code through it. For labels only: what is not listed is not
/// safe.
bool isDangerousGlobal(string_view module, string_view name)
{
    if (isBuiltinModule(module) && contains(kDangerousBuiltins, name.substr(0, name.find('.'))))
        return true;
    if (startsWithDangerousModule(module) || containsFull(kDangerousNames, module, name))
        return true;
    const size_t dot = name.rfind('.');
    if (dot != string_view::npos && namesDangerousModule(name.substr(0, dot)))
        return true;
    const size_t tail = module.find('.');
    return tail != string_view::npos && contains(kDangerousModules, module.substr(module.rfind('.') + 1))
        && !module.starts_with("torch.multiprocessing") && !module.starts_with("deepspeed.");
}

constexpr size_t kMaxFindings = 200; ///< of one kind, per pickle
constexpr size_t kMaxNamesInError = 3; ///< in the message of a stream that breaks off

std::string fullName(const PickleGraph& graph, NodeId global)
{
    return nodeText(graph, global, 120);
}

} // namespace

/// One byte per node: 1 where a getattr global is used for nothing but getattr(ZeroStageEnum, "name").
///
/// Python 3.11's first releases pickle enum members that way, so in that form the name is data.
std::vector<uint8_t> PickleMachine::enumLookups() const
{
    std::vector<uint8_t> harmless(m_graph.nodeCount(), 0);
    std::vector<NodeId> getters;
    for (uint32_t i = 0; i < m_graph.nodeCount(); ++i)
        if (isGetattr(m_graph.globalModule(NodeId{i}), m_graph.globalName(NodeId{i})))
            getters.push_back(NodeId{i});
    if (getters.empty())
        return {};
    std::vector<uint8_t> called(m_graph.nodeCount(), 0);
    for (const NodeId getter : getters)
        harmless[index(getter)] = 1;
    for (const NodeId link : m_graph.m_links)
        if (index(link) < harmless.size())
            harmless[index(link)] = 0;
    for (uint32_t i = 0; i < m_graph.nodeCount(); ++i) {
        const NodeId callable = m_graph.callable(NodeId{i});
        if (callable == kNoNode || harmless[index(callable)] == 0)
            continue;
        const auto arguments = m_graph.items(m_graph.arguments(NodeId{i}));
        const bool lookup = m_graph.kind(NodeId{i}) == NodeKind::Reduce && arguments.size() == 2
            && isGlobal(m_graph, arguments[0], "deepspeed.runtime.zero.config", "ZeroStageEnum")
            && m_graph.kind(arguments[1]) == NodeKind::String;
        if (lookup)
            called[index(callable)] = 1;
        else
            harmless[index(callable)] = 0;
    }
    for (size_t i = 0; i < harmless.size(); ++i)
        harmless[i] = static_cast<uint8_t>(harmless[i] & called[i]);
    return harmless;
}

void PickleMachine::addFindings()
{
    const std::vector<uint8_t> harmless = enumLookups();
    std::set<std::pair<std::string_view, std::string_view>> seen;
    size_t dangerous = 0;
    size_t opaque = 0;
    const auto located = [&](NodeId node) {
        return std::vector<std::string>{fmt::format("first named at byte {}", m_graph.sourceBegin(node))};
    };
    for (uint32_t i = 0; i < m_graph.nodeCount(); ++i) {
        const NodeId node{i};
        const NodeKind kind = m_graph.m_nodes[i].kind;
        if (kind == NodeKind::Extension || kind == NodeKind::Buffer) {
            if (opaque++ < kMaxFindings)
                m_findings.push_back({code::kPickleOpaque, Severity::Warning,
                    kind == NodeKind::Buffer
                        ? "the pickle refers to a buffer outside itself"
                        : "the pickle names a class by a registry code of the program that wrote it",
                    {}, located(node)});
            continue;
        }
        if (kind != NodeKind::Global)
            continue;
        const std::string_view module = m_graph.globalModule(node);
        const std::string_view name = m_graph.globalName(node);
        if (!harmless.empty() && harmless[i] != 0)
            continue;
        if (!seen.emplace(module, name).second)
            continue;
        if (isDangerousGlobal(module, name)) {
            if (dangerous++ < kMaxFindings)
                m_findings.push_back({code::kPickleDangerous, Severity::Error,
                    fmt::format("the pickle names {}, which runs code when Python loads the file",
                        fullName(m_graph, node)),
                    {}, located(node)});
        } else if (!isKnownGlobal(module, name) && opaque++ < kMaxFindings) {
            m_findings.push_back({code::kPickleOpaque, Severity::Info,
                fmt::format("{} is unknown; its data is copied unchanged", fullName(m_graph, node)), {},
                located(node)});
        }
    }
    markConflictingStorages();
}

void PickleMachine::markConflictingStorages()
{
    std::vector<uint32_t> uses;
    for (uint32_t i = 0; i < m_graph.nodeCount(); ++i)
        if (m_graph.m_nodes[i].kind == NodeKind::PersistentId)
            uses.push_back(i);
    CountedNames firstUse(uses.size());
    size_t conflicts = 0;
    for (const uint32_t use : uses) {
        const auto storage = asStorage(m_graph, NodeId{use});
        if (!storage)
            continue;
        uint32_t& first = firstUse[storage->key];
        if (first == CountedNames::kNone) {
            first = use;
            continue;
        }
        const auto known = asStorage(m_graph, NodeId{first});
        if (known->dtype == storage->dtype && known->elements == storage->elements)
            continue;
        Node& firstNode = m_graph.m_nodes[first];
        if ((firstNode.flags & PickleGraph::kConflicting) == 0 && conflicts++ < kMaxFindings)
            m_findings.push_back({code::kTensorInvalid, Severity::Error,
                "one storage is used with two types or two sizes, so its tensors are not reliable", {},
                {fmt::format("byte {} and byte {}", firstNode.begin, m_graph.m_nodes[use].begin)}});
        firstNode.flags |= PickleGraph::kConflicting;
    }
    if (conflicts == 0)
        return;
    for (const uint32_t use : uses) {
        const auto storage = asStorage(m_graph, NodeId{use});
        if (storage && (m_graph.m_nodes[firstUse[storage->key]].flags & PickleGraph::kConflicting) != 0)
            m_graph.m_nodes[use].flags |= PickleGraph::kConflicting;
    }
}

std::string PickleMachine::dangerousNames() const
{
    std::string names;
    std::set<std::string> seen;
    for (uint32_t i = 0; i < m_graph.nodeCount() && seen.size() < kMaxNamesInError; ++i) {
        const NodeId node{i};
        if (m_graph.m_nodes[i].kind != NodeKind::Global
            || isGetattr(m_graph.globalModule(node), m_graph.globalName(node))
            || !isDangerousGlobal(m_graph.globalModule(node), m_graph.globalName(node)))
            continue;
        if (const auto [at, isNew] = seen.insert(fullName(m_graph, node)); isNew)
            names += (names.empty() ? "" : ", ") + *at;
    }
    return names;
}

} // namespace shardscope
