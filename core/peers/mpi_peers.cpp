// SPDX-License-Identifier: Apache-2.0
#include "core/peers/mpi_peers.h"

#include "core/compute/compute_modules.h"
#include "core/peers/mpi_entry.h"

#ifndef SHARDSCOPE_STATIC_PROGRAM
#include <dlfcn.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace shardscope {

namespace {

std::optional<uint32_t> numberIn(const char* variable)
{
    const char* text = std::getenv(variable);
    uint32_t value = 0;
    if (text == nullptr)
        return std::nullopt;
    const char* const end = text + std::strlen(text);
    const auto parsed = std::from_chars(text, end, value);
    return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(value) : std::nullopt;
}

/// How launchers number their processes: Open MPI, MPICH and what is compatible with it, Slurm.
constexpr std::array<std::pair<const char*, const char*>, 3> kNumberings{
    {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"},
        {"SLURM_PROCID", "SLURM_NTASKS"}}};

/// Whether the parent process is a launcher, by its name, which Linux cuts at 15 characters.
bool isChildOfLauncher()
{
    std::ifstream file("/proc/" + std::to_string(::getppid()) + "/comm");
    std::string name;
    std::getline(file, name);
    static constexpr std::array<std::string_view, 9> kLaunchers{"mpirun", "mpiexec", "mpiexec.hydra", "orted",
        "orterun", "prterun", "prted", "hydra_pmi_proxy", "slurmstepd"};
    return std::ranges::find(kLaunchers, name) != kLaunchers.end() || name.starts_with("mpirun.")
        || name.starts_with("mpiexec.");
}

} // namespace

std::optional<LaunchedProcess> launchedProcess(bool direct)
{
    for (const auto& [rank, size] : kNumberings) {
        const auto ownRank = numberIn(rank);
        const auto count = numberIn(size);
        if (ownRank && count && *ownRank < *count)
            return direct && !isChildOfLauncher() ? std::nullopt
                                                  : std::optional(LaunchedProcess{*ownRank, *count});
    }
    return std::nullopt;
}

#ifdef SHARDSCOPE_STATIC_PROGRAM

Result<std::unique_ptr<Peers>> joinMpi()
{
    return fail(ErrorCode::Unsupported, "this is the static program, which cannot load MPI", {},
        Hint::omit("--mpi")
            + ", or write parts with --part I/N; a program that was built from source can use MPI");
}

#else

namespace {

class MpiPeers final : public Peers
{
public:
    explicit MpiPeers(const ShardscopeMpi& mpi)
        : m_mpi(mpi)
    {
    }
    ~MpiPeers() override { m_mpi.end(); }
    MpiPeers(const MpiPeers&) = delete;
    MpiPeers& operator=(const MpiPeers&) = delete;

    [[nodiscard]] uint32_t rank() const override { return m_mpi.rank; }
    [[nodiscard]] uint32_t size() const override { return m_mpi.size; }

    Result<std::string> scatter(std::vector<std::string> texts) override
    {
        if (rank() != 0)
            return receive(0);
        for (uint32_t to = 1; to < size(); ++to)
            SHARDSCOPE_CHECK(send(to, texts[to]));
        return std::move(texts[0]);
    }

    Result<std::vector<std::string>> gather(std::string text) override
    {
        std::vector<std::string> out;
        if (rank() != 0) {
            SHARDSCOPE_CHECK(send(0, text));
            return out;
        }
        out.push_back(std::move(text));
        for (uint32_t from = 1; from < size(); ++from) {
            SHARDSCOPE_TRY(out.emplace_back(), receive(from));
        }
        return out;
    }

private:
    Status send(uint32_t to, const std::string& text)
    {
        const uint64_t bytes = text.size();
        SHARDSCOPE_CHECK(checked(m_mpi.send(to, &bytes, sizeof(bytes)), to));
        return checked(m_mpi.send(to, text.data(), bytes), to);
    }

    Result<std::string> receive(uint32_t from)
    {
        uint64_t bytes = 0;
        SHARDSCOPE_CHECK(checked(m_mpi.receive(from, &bytes, sizeof(bytes)), from));
        std::string out(bytes, '\0');
        SHARDSCOPE_CHECK(checked(m_mpi.receive(from, out.data(), bytes), from));
        return out;
    }

    Status checked(int error, uint32_t other) const
    {
        if (error == 0)
            return {};
        std::array<char, 512> text{};
        m_mpi.errorText(error, text.data(), text.size());
        return fail(ErrorCode::Unreadable,
            "process " + std::to_string(other) + " of the MPI job cannot be reached: " + text.data(), {},
            "run the same command again: it continues from what was written");
    }

    const ShardscopeMpi& m_mpi;
};

/// The modules, that of the launcher's MPI first.
std::vector<std::string> moduleNames()
{
    const std::string openMpi = "shardscope_openmpi.so";
    const std::string mpich = "shardscope_mpich.so";
    if (const char* named = std::getenv("SHARDSCOPE_MPI"))
        return {std::string("shardscope_") + named + ".so"};
    const bool isOpenMpi
        = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr;
    const bool isMpich = !isOpenMpi && std::getenv("PMI_RANK") != nullptr;
    return isMpich  ? std::vector<std::string>{mpich}
        : isOpenMpi ? std::vector<std::string>{openMpi}
                    : std::vector<std::string>{openMpi, mpich};
}

Result<const ShardscopeMpi*> begin(const io::Path& file)
{
    if (const std::string why = whyNotTrusted(file); !why.empty())
        return fail(ErrorCode::Unsupported, "the module for MPI was not loaded: " + why, file.string(),
            "install Shardscope where only you or root can write");
    // Never closed: MPI libraries cannot be unloaded.
    void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return fail(ErrorCode::Unsupported, std::string("MPI cannot be loaded: ") + ::dlerror(),
            file.string(), "install the MPI library that the launcher belongs to");
    const auto start = reinterpret_cast<ShardscopeMpiBegin>(::dlsym(library, kShardscopeMpiSymbol));
    std::array<char, 512> why{};
    const ShardscopeMpi* mpi = start != nullptr ? start(why.data(), why.size()) : nullptr;
    if (mpi == nullptr || mpi->version != kShardscopeMpiVersion)
        return fail(ErrorCode::Unsupported,
            mpi == nullptr && start != nullptr ? std::string("the MPI job cannot be joined: ") + why.data()
                                               : std::string("the module is of another version"),
            file.string());
    return mpi;
}

} // namespace

Result<std::unique_ptr<Peers>> joinMpi()
{
    const auto names = moduleNames();
    for (const std::string& name : names) {
        for (const io::Path& folder : computeModuleFolders()) {
            const io::Path file = folder / name;
            if (::access(file.c_str(), F_OK) != 0)
                continue;
            SHARDSCOPE_TRY(const ShardscopeMpi* mpi, begin(file));
            const auto launched = launchedProcess(false);
            if (launched && launched->size > 1 && mpi->size == 1) {
                mpi->end();
                return fail(ErrorCode::Unsupported,
                    "the launcher started " + std::to_string(launched->size) + " processes, but "
                        + std::string(mpi->library) + " sees one",
                    {},
                    "use the launcher of the same MPI; with srun, --mpi=pmix for Open MPI and --mpi=pmi2 for "
                    "MPICH");
            }
            return std::unique_ptr<Peers>(std::make_unique<MpiPeers>(*mpi));
        }
    }
    return fail(ErrorCode::Unsupported, "this installation has no " + names.front(), {},
        Hint::omit("--mpi")
            + ", or write parts with --part I/N; the Debian packages shardscope-openmpi and "
              "shardscope-mpich have the modules");
}

#endif

} // namespace shardscope
