// SPDX-License-Identifier: Apache-2.0
// The window on a checkpoint of another host, for a line such as that of tests/hostile/slow_line.py:
// bench_far HOST:/PATH. Prints seconds, questions and bytes received until the map is drawn, until all is
// known, and of one heat map of the largest tensor; and the longest event of the GUI thread.
#include "tests/bench/event_watcher.h"

#include "core/far/far_files.h"
#include "core/far/far_host.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/pages/map_page.h"
#include "ui/shell/main_window.h"
#include "ui/style/app_style.h"
#include "ui/tensorview/heat_samples.h"
#include "ui/tensorview/tensor_source.h"

#include <QElapsedTimer>
#include <QTemporaryDir>

#include <algorithm>
#include <cstdio>

using namespace Qt::StringLiterals;
using namespace shardscope::bench;
using namespace shardscope::ui;
namespace far = shardscope::far;

namespace {

/// What one thing has taken: over the line, and of time.
class Cost
{
public:
    explicit Cost(const char* what)
        : m_what(what)
        , m_before(traffic())
    {
        m_passed.start();
    }
    ~Cost()
    {
        const far::FarTraffic now = traffic();
        std::printf("%-12s %6.2f s %6llu questions %10llu bytes received\n", m_what,
            static_cast<double>(m_passed.elapsed()) / 1000,
            static_cast<unsigned long long>(now.questions - m_before.questions),
            static_cast<unsigned long long>(now.bytesReceived - m_before.bytesReceived));
        std::fflush(stdout);
    }
    Cost(const Cost&) = delete;
    Cost& operator=(const Cost&) = delete;

private:
    /// Of all hosts.
    static far::FarTraffic traffic()
    {
        far::FarTraffic out;
        for (const auto& [host, of] : far::farTraffic()) {
            out.questions += of.questions;
            out.bytesReceived += of.bytesReceived;
        }
        return out;
    }

    const char* m_what;
    far::FarTraffic m_before;
    QElapsedTimer m_passed;
};

void drawHeat(const shardscope::CheckpointPtr& checkpoint)
{
    const auto& params = checkpoint->params;
    const auto largest = std::max_element(
        params.begin(), params.end(), [](const auto& a, const auto& b) { return a.elements < b.elements; });
    const auto param = shardscope::ParamId{static_cast<uint32_t>(largest - params.begin())};
    for (const char* state : {"weight", "fp32"}) {
        const TensorSourcePtr source = TensorSource::make(checkpoint, param, state);
        if (!source)
            continue;
        const Cost cost(state);
        const bool isDrawn
            = readHeat(far::farAndOwnFiles(), *source, TensorSlice(source->shape), {}).anyFinite;
        std::printf("heat map of %llu elements%s\n", static_cast<unsigned long long>(largest->elements),
            isDrawn ? "" : ": nothing finite");
    }
}

} // namespace

int main(int argc, char** argv)
{
    EventWatcher application(argc, argv);
    if (argc != 2) {
        std::fprintf(stderr, "bench_far HOST:/PATH\n");
        return 2;
    }
    QApplication::setStyle(new AppStyle);
    const QTemporaryDir settingsFolder;
    Settings settings(settingsFolder.path());
    Theme theme;
    theme.setMode(ThemeMode::Light);
    auto window = std::make_unique<MainWindow>(far::farAndOwnFiles(), theme, settings);
    window->resize(1440, 900);
    window->show();
    application.runUntil([&] { return window->isSettled(); });
    application.begin(u"all"_s);
    {
        const Cost whole("all known");
        {
            const Cost first("map drawn");
            window->showPageWhenOpen(u"map"_s);
            window->openPath(QString::fromLocal8Bit(argv[1]));
            application.runUntil([&] {
                auto* page = window->findChild<MapPage*>();
                return window->session().checkpoint() && page != nullptr && page->isVisible()
                    && !page->isBusy();
            });
        }
        application.runUntil([&] { return window->isSettled(); });
    }
    drawHeat(window->session().checkpoint());
    application.print(50);
    std::fflush(stdout);
    window.reset();
    return 0;
}
