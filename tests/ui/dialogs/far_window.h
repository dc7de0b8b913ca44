// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/far/far_files.h"
#include "core/far/far_host.h"
#include "tests/ui/window_fixture.h"
#include "ui/controls/host_bar.h"

#include <QDir>
#include <QFile>

#include <csignal>

namespace shardscope::ui {

using namespace Qt::StringLiterals;

inline io::FileSystem& allFiles()
{
    static SkeletonFiles files(far::farAndOwnFiles());
    return files;
}

/// A window that reaches other hosts; every name is one, as one connection belongs to a name.
class FarWindow : public WindowFixture
{
public:
    FarWindow()
        : WindowFixture(ThemeMode::Light, allFiles())
    {
        const QString script = m_host.filePath(u"ssh"_s);
        QFile file(script);
        (void)file.open(QIODevice::WriteOnly);
        file.write(
            u"#!/bin/sh\n[ -e '%1/down' ] && { echo 'ssh: no route to host' >&2; exit 255; }\n"
            "[ -e '%1/asks' ] && \"$SSH_ASKPASS\" \"Password of $1:\"\n"
            "echo $$ >> '%1/lines'\n[ \"$1\" = absent ] && exit 255\n"
            "exec env -i HOME='%1/home' PATH='%1/bin:/usr/bin:/bin' sh -c \"$2\"\n"_s.arg(m_host.path())
                .toUtf8());
        file.close();
        file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        QDir(m_host.path()).mkpath(u"home/runs"_s);
        QDir(m_host.path()).mkpath(u"bin"_s);
        QFile::link(QString::fromStdString(programPath()), m_host.filePath(u"bin/shardscope"_s));
        copiedSample("zero3-w4", m_host.filePath(u"home/runs/llama"_s));
        qputenv("SHARDSCOPE_SSH", script.toUtf8());
    }
    ~FarWindow() { signalLines(SIGCONT); }

    /// Times that ssh was started.
    [[nodiscard]] int connections() const
    {
        QFile lines(m_host.filePath(u"lines"_s));
        return lines.open(QIODevice::ReadOnly) ? static_cast<int>(lines.readAll().count('\n')) : 0;
    }
    [[nodiscard]] QString home() const { return m_host.filePath(u"home"_s); }
    void setDown(bool isDown)
    {
        const QString mark = m_host.filePath(u"down"_s);
        if (isDown)
            (void)QFile(mark).open(QIODevice::WriteOnly);
        else
            QFile::remove(mark);
    }
    /// From now on ssh asks for a password, which nobody answers.
    void setAsking()
    {
        const QString program = m_host.filePath(u"ask"_s);
        QFile file(program);
        (void)file.open(QIODevice::WriteOnly);
        file.write("#!/bin/sh\nsleep 60\n");
        file.close();
        file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        (void)QFile(m_host.filePath(u"asks"_s)).open(QIODevice::WriteOnly);
        qputenv("SSH_ASKPASS", program.toUtf8());
    }
    /// To every process that stands for ssh.
    void signalLines(int signal)
    {
        QFile file(m_host.filePath(u"lines"_s));
        if (!file.open(QIODevice::ReadOnly))
            return;
        while (!file.atEnd())
            ::kill(file.readLine().trimmed().toInt(), signal);
    }
    [[nodiscard]] HostBar& bar() { return *find<HostBar>("hostBar"); }

private:
    QTemporaryDir m_host;
};

} // namespace shardscope::ui
