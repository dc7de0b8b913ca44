// SPDX-License-Identifier: Apache-2.0

// Room app/gui: the program `shardscope-gui`, and app/cli for `--headless`. Start with main(), then
// MainWindow.

#include "app/cli/run.h"
#include "core/base/build_info.h"
#include "core/checkpoint/model/checkpoint_kind.h"
#include "core/far/far_files.h"
#include "core/far/far_host.h"
#include "core/far/far_path.h"
#include "core/io/open_files.h"
#include "core/torchfile/skeleton/skeleton_files.h"
#include "ui/shell/main_window.h"
#include "ui/shell/screenshot.h"
#include "ui/style/app_style.h"
#include "ui/text/text.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QIcon>

#include <cstdio>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

using namespace Qt::StringLiterals;

namespace {

using namespace shardscope::ui;

/// `shardscope-gui --headless VERB …`: the command line, before any Qt object exists.
int runHeadless(int argc, char** argv)
{
    std::vector<char*> arguments{argv[0]};
    arguments.insert(arguments.end(), argv + 2, argv + argc);
    arguments.push_back(nullptr);
    return shardscope::cli::run(static_cast<int>(arguments.size()) - 1, arguments.data());
}

bool has(int argc, char** argv, std::string_view option)
{
    for (int i = 1; i < argc; ++i)
        if (std::string_view(argv[i]) == option
            || std::string_view(argv[i]).starts_with(std::string(option) + '='))
            return true;
    return false;
}

void declareOptions(QCommandLineParser& parser)
{
    parser.setApplicationDescription(
        u"Opens DeepSpeed checkpoints in a window. Files are only read.\n"
        "  shardscope-gui --headless VERB …   runs a verb of shardscope, without a display"_s);
    parser.addHelpOption();
    parser.addOption({u"version"_s, u"Print the version and exit."_s});
    parser.addOption(
        {u"screenshot"_s, u"Save a picture of the window as PNG and exit; needs no display."_s, u"FILE"_s});
    parser.addOption({u"page"_s,
        u"Begin with this page: %1. With --screenshot also: %2."_s.arg(
            pageNames().join(u", "_s), screenshotPages().mid(pageNames().size()).join(u", "_s)),
        u"NAME"_s});
    parser.addOption({u"against"_s, u"Compare the first PATH with this checkpoint."_s, u"OTHER"_s});
    parser.addOption({u"filter"_s, u"Filter the page in front."_s, u"TEXT"_s});
    parser.addOption({u"select"_s, u"Select this parameter or address."_s, u"ADDRESS"_s});
    parser.addOption({u"theme"_s, u"system, light, dark or high-contrast."_s, u"THEME"_s});
    parser.addOption({u"size"_s, u"Size of the window, such as 1440x900."_s, u"WxH"_s});
    parser.addOption({u"tag"_s, u"Open this tag of the run."_s, u"TAG"_s});
    parser.addOption({u"kind"_s, u"Open PATH as this kind, where the detected one is wrong."_s, u"KIND"_s});
    parser.addOption(
        {u"root"_s, u"Another folder with files of the checkpoint; can be repeated."_s, u"DIR"_s});
    parser.addOption({u"donor"_s, u"An earlier checkpoint of the run that swapped to PATH."_s, u"DIR"_s});
    parser.addPositionalArgument(u"PATH"_s, u"Run folder, tag folder or state file."_s, u"[PATH…]"_s);
}

int usageError(const QString& text)
{
    std::fprintf(stderr, "shardscope-gui: %s\n", qUtf8Printable(text));
    return 2;
}

/// What is wrong with the options that say how PATH is opened. Empty: nothing.
QString sourceProblem(const QCommandLineParser& parser)
{
    const qsizetype count = parser.positionalArguments().size();
    for (const QString& option : {u"tag"_s, u"kind"_s, u"root"_s, u"donor"_s}) {
        const bool isOfOne = option == "root"_L1 || option == "donor"_L1;
        if (parser.isSet(option) && (count == 0 || (isOfOne && count > 1)))
            return u"--%1 needs %2"_s.arg(option, isOfOne ? u"one PATH"_s : u"a PATH"_s);
    }
    if (parser.isSet(u"kind"_s) && !shardscope::kindNamed(parser.value(u"kind"_s).toStdString()))
        return u"--kind takes the kinds that `shardscope inspect --help` lists"_s;
    return {};
}

/// Nothing for another name.
std::optional<ThemeMode> themeOf(const QCommandLineParser& parser, const Settings& settings)
{
    const QString name = parser.value(u"theme"_s);
    if (name.isEmpty())
        return parser.isSet(u"screenshot"_s) ? ThemeMode::Light : settings.themeMode();
    if (name == "dark"_L1)
        return ThemeMode::Dark;
    if (name == "light"_L1)
        return ThemeMode::Light;
    if (name == "high-contrast"_L1)
        return ThemeMode::HighContrast;
    return name == "system"_L1 ? std::optional(ThemeMode::System) : std::nullopt;
}

/// Nothing if it is no size of a window.
std::optional<QSize> sizeOf(const QString& text)
{
    const QStringList parts = text.split(u'x');
    const QSize size = parts.size() == 2 ? QSize(parts[0].toInt(), parts[1].toInt()) : QSize();
    if (size.width() < 400 || size.height() < 300 || size.width() > 16384 || size.height() > 16384)
        return std::nullopt;
    return size;
}

/// What the options open at a path; the command line means the same by them.
OpenedPlace placeOf(const QCommandLineParser& parser, const QString& path)
{
    const auto pathOf = [](const QString& text) {
        return shardscope::io::Path(shardscope::far::typedPath(text.toStdString()));
    };
    OpenedPlace place{pathOf(path), parser.value(u"tag"_s).toStdString(), {}, parser.isSet(u"donor"_s),
        shardscope::kindNamed(parser.value(u"kind"_s).toStdString())};
    if (place.salvage)
        place.roots.push_back(std::exchange(place.path, pathOf(parser.value(u"donor"_s))));
    for (const QString& root : parser.values(u"root"_s))
        place.roots.push_back(pathOf(root));
    return place;
}

int saveScreenshot(MainWindow& window, const QCommandLineParser& parser)
{
    ScreenshotWish wish;
    wish.file = parser.value(u"screenshot"_s);
    wish.page = parser.value(u"page"_s);
    if (!parser.positionalArguments().isEmpty())
        wish.place = placeOf(parser, parser.positionalArguments().first());
    wish.against = parser.value(u"against"_s);
    wish.select = parser.value(u"select"_s);
    if (const auto size = sizeOf(parser.value(u"size"_s)))
        wish.size = *size;
    window.showPageWhenOpen(wish.page); // where the filter goes
    window.filterWhenOpen(parser.value(u"filter"_s));
    return takeScreenshot(window, wish) ? 0 : 3;
}

/// Opens the first path in the window, and shows in it what the options say.
void openFirst(MainWindow& window, const QCommandLineParser& parser)
{
    const QStringList paths = parser.positionalArguments();
    if (!paths.isEmpty())
        window.openPlace(placeOf(parser, paths.first()));
    if (parser.isSet(u"select"_s))
        window.selectWhenOpen(parser.value(u"select"_s));
    window.filterWhenOpen(parser.value(u"filter"_s));
    if (parser.isSet(u"against"_s))
        window.compareWith(parser.value(u"against"_s), true);
}

/// The files of this machine and, through ssh, of others.
shardscope::io::FileSystem& allFiles()
{
    static shardscope::SkeletonFiles files(shardscope::far::farAndOwnFiles());
    return files;
}

void prepare(QApplication& application)
{
    QApplication::setApplicationName(u"shardscope-gui"_s);
    QApplication::setApplicationDisplayName(u"Shardscope"_s);
    QApplication::setDesktopFileName(u"org.shardscope.Shardscope"_s);
    QApplication::setStyle(new shardscope::ui::AppStyle);
    // Without it, ssh would ask for a password on the terminal that the window was started from.
    if (!qEnvironmentVariableIsEmpty("SSH_ASKPASS") && qEnvironmentVariableIsEmpty("SSH_ASKPASS_REQUIRE"))
        qputenv("SSH_ASKPASS_REQUIRE", "prefer");
    static std::stop_source leaving; // a wait for another host must not hold up the end
    shardscope::far::setFarSettings({.stop = leaving.get_token()});
    QObject::connect(&application, &QApplication::aboutToQuit, [] { leaving.request_stop(); });
}

} // namespace

int main(int argc, char** argv)
{
    shardscope::io::allowManyOpenFiles();
    if (argc > 1 && std::string_view(argv[1]) == "--headless")
        return runHeadless(argc, argv);
    if (argc == 2 && std::string_view(argv[1]) == "--version") {
        std::printf("shardscope-gui %s (%s)\n", std::string(shardscope::buildInfo().version).c_str(),
            std::string(shardscope::buildInfo().commit).c_str());
        return 0;
    }
    if ((has(argc, argv, "--screenshot") || has(argc, argv, "--help") || has(argc, argv, "-h"))
        && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");

    QApplication application(argc, argv);
    prepare(application);
    QCommandLineParser parser;
    declareOptions(parser);
    if (!parser.parse(QApplication::arguments()))
        return usageError(parser.errorText());
    if (parser.isSet(u"help"_s))
        parser.showHelp(0);
    if (const QString problem = sourceProblem(parser); !problem.isEmpty())
        return usageError(problem);
    Settings settings;
    Theme theme;
    const auto mode = themeOf(parser, settings);
    if (!mode)
        return usageError(u"--theme is system, light, dark or high-contrast"_s);
    theme.setMode(*mode);
    MainWindow window(allFiles(), theme, settings);
    if (parser.isSet(u"size"_s)) {
        const auto size = sizeOf(parser.value(u"size"_s));
        if (!size)
            return usageError(u"--size is WxH, at least 400x300"_s);
        window.resize(*size);
    }
    if (parser.isSet(u"screenshot"_s))
        return saveScreenshot(window, parser);
    window.show();
    window.offerUnfinishedJobs();
    openFirst(window, parser);
    const QStringList paths = parser.positionalArguments();
    if (argc == 1 && settings.restoresOpened())
        window.openAgain(settings.opened());
    std::vector<std::unique_ptr<MainWindow>> others; // further paths open in windows of their own
    for (const QString& path : paths.mid(1)) {
        others.push_back(std::make_unique<MainWindow>(allFiles(), theme, settings));
        others.back()->show();
        others.back()->openPlace(placeOf(parser, path));
    }
    if (parser.isSet(u"page"_s) && !paths.isEmpty())
        window.showPageWhenOpen(parser.value(u"page"_s));
    if (parser.isSet(u"page"_s) && !window.showPage(parser.value(u"page"_s)))
        return usageError(
            u"there is no page named “%1”; use %2"_s.arg(parser.value(u"page"_s), pageNames().join(u", "_s)));
    return QApplication::exec();
}
