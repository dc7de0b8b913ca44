// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/pickle_machine_names.h"

#include <algorithm>
#include <array>

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

} // namespace

bool isGetattr(string_view module, string_view name)
{
    return isBuiltinModule(module) && name == "getattr";
}

bool isKnownGlobal(string_view module, string_view name)
{
    if (isBuiltinModule(module))
        return contains(kKnownBuiltins, name) || name == "getattr";
    if (module == "torch" && name.find('.') == string_view::npos)
        return true; // storages, dtypes, Size, device
    return contains(kKnownModules, module) || containsFull(kKnownNames, module, name);
}

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

} // namespace shardscope
