// SPDX-License-Identifier: Apache-2.0
#include "core/compute/compute_modules.h"

#include "core/compute/compute_module_entry.h"

#ifndef SHARDSCOPE_STATIC_PROGRAM
#include <dlfcn.h>
#endif
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <utility>

namespace shardscope {

std::vector<io::Path> computeModuleFolders()
{
    if (const char* named = std::getenv("SHARDSCOPE_COMPUTE_DIR"))
        return {named};
    std::array<char, PATH_MAX> program{};
    const ssize_t length = ::readlink("/proc/self/exe", program.data(), program.size());
    if (length <= 0)
        return {};
    const io::Path folder
        = io::Path(std::string_view(program.data(), static_cast<size_t>(length))).parent_path();
    return {folder.parent_path() / "lib/shardscope", folder.parent_path().parent_path() / "lib/shardscope"};
}

namespace {

/// Whether somebody else than the owner and the user's own group may write. In a sticky folder nobody can
/// replace what belongs to others, and who owns the next folder is checked, too.
bool isWritableByOthers(const struct stat& status)
{
    if (S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0)
        return false;
    const bool isOwnGroup = status.st_gid == 0 || status.st_gid == ::getegid();
    return (status.st_mode & S_IWOTH) != 0 || ((status.st_mode & S_IWGRP) != 0 && !isOwnGroup);
}

} // namespace

std::string whyNotTrusted(const io::Path& module)
{
    constexpr int kLevels = 4; // the file, "shardscope", "lib", the root of the installation
    std::error_code error;
    io::Path at = std::filesystem::canonical(module, error);
    struct stat program {
    };
    const bool hasProgram = ::stat("/proc/self/exe", &program) == 0;
    for (int level = 0; level < kLevels && !error && at.has_relative_path(); ++level) {
        struct stat status {
        };
        if (::lstat(at.c_str(), &status) != 0)
            return at.string() + " cannot be looked at";
        const uid_t owner = status.st_uid;
        if (owner != 0 && owner != ::geteuid() && !(hasProgram && owner == program.st_uid))
            return at.string() + " belongs to user " + std::to_string(owner)
                + ", who could have written the module";
        if (isWritableByOthers(status))
            return at.string() + " can be written by other users, who could have written the module";
        at = at.parent_path();
    }
    return error ? module.string() + " cannot be looked at" : std::string();
}

namespace {

/// A module, or why there is none.
struct Module {
    compute::MakeFunction make = nullptr;
    std::string why;
};

#ifdef SHARDSCOPE_STATIC_PROGRAM

Module open(const std::string& fileName)
{
    return {nullptr,
        "this is the static program, which cannot load " + fileName
            + "; a program that was built from source can"};
}

#else

template <class Function>
Function functionOf(void* library, const char* name)
{
    return reinterpret_cast<Function>(::dlsym(library, name));
}

Module open(const std::string& fileName)
{
    Module out;
    for (const io::Path& folder : computeModuleFolders()) {
        const io::Path file = folder / fileName;
        if (::access(file.c_str(), F_OK) != 0)
            continue;
        if (std::string why = whyNotTrusted(file); !why.empty()) {
            out.why = "it was not loaded: " + std::move(why);
            return out;
        }
        // Never closed: LibTorch cannot be unloaded.
        void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            const char* reason = ::dlerror();
            out.why = reason != nullptr ? reason : "unknown";
            return out;
        }
        const auto stamp = functionOf<compute::StampFunction>(library, compute::kStampSymbol);
        const auto make = functionOf<compute::MakeFunction>(library, compute::kMakeSymbol);
        if (stamp == nullptr || make == nullptr || std::string_view(stamp()) != compute::stamp()) {
            out.why = file.string() + " is of another build";
            return out;
        }
        out.make = make;
        return out;
    }
    out.why = "this installation has no " + fileName;
    return out;
}

#endif

Result<std::shared_ptr<const ComputeBackend>> make(
    const Module& module, const CudaRequest& request, const char* what)
{
    std::string why = module.why;
    const ComputeBackend* backend = module.make != nullptr ? module.make(request, why) : nullptr;
    if (backend == nullptr)
        return fail(ErrorCode::Unsupported, std::string(what) + " cannot be used: " + why, {},
            Hint::add("--device", "cpu") + " needs neither LibTorch nor CUDA");
    return std::shared_ptr<const ComputeBackend>(backend);
}

} // namespace

bool canLoadModules()
{
#ifdef SHARDSCOPE_STATIC_PROGRAM
    return false;
#else
    return true;
#endif
}

Result<std::shared_ptr<const ComputeBackend>> loadTorchBackend()
{
    static const Module kModule = open(kTorchModule);
    return make(kModule, {}, "LibTorch");
}

Result<std::shared_ptr<const ComputeBackend>> loadCudaBackend(const CudaRequest& request)
{
    static const Module kModule = open(kCudaModule);
    return make(kModule, request, "CUDA");
}

std::vector<ComputeModuleState> computeModuleStates()
{
    const auto whyNot = [](const auto& backend) { return backend ? std::string() : backend.error().message; };
    return {{"torch", kTorchModule, whyNot(loadTorchBackend())},
        {"cuda", kCudaModule, whyNot(loadCudaBackend({}))}};
}

} // namespace shardscope
