// Release builds the modules of the tree as their users will: it writes a module proxy into a temporary folder that has
// every published module under the next version, then vets each module and runs the go get and go install lines of docs/install.md
// with that proxy, outside the workspace. Vetting compiles the packages of a module, installing links the programs. Published are
// all modules of the tree but those in conformance/ and those with a replace line.
// The next version is the first one in CHANGELOG.md. It must be one that gorelease of golang.org/x/exp allows after the second one there,
// for every module that others import. The program of README.md, the least that an importer builds, must not grow.
//
//	go run .ci/release.go
package main

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const root = "github.com/podberth/podberth"

const gorelease = "golang.org/x/exp/cmd/gorelease@v0.0.0-20261113113407-e3970619a1a4"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run() error {
	changes, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	headings := regexp.MustCompile(`(?m)^## (v[0-9]+\.[0-9]+\.[0-9]+)`).FindAllSubmatch(changes, 2)
	if len(headings) == 0 {
		return fmt.Errorf("CHANGELOG.md has no heading with a version")
	}
	version, base := string(headings[0][1]), "none"
	if len(headings) > 1 {
		base = string(headings[1][1])
	}
	folders, err := modules()
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for _, folder := range folders {
		if err := publish(filepath.Join(tmp, "proxy"), folder, version); err != nil {
			return err
		}
	}
	env, err := environment(tmp)
	if err != nil {
		return err
	}
	// The go command looks for programs in modules of longer and longer paths. A proxy on the network may answer with an error
	// where no such module exists, so installing takes the other modules from what vetting has fetched.
	installing := append(slices.Clone(env), "GOPROXY=file://"+filepath.Join(tmp, "proxy")+",file://"+filepath.Join(tmp, "mod/cache/download"))
	var programs, libraries []string // import paths of programs, folders of modules that others can import
	for _, folder := range folders {
		found, library, err := check(env, filepath.Join(tmp, "src", folder), folder)
		if err != nil {
			return fmt.Errorf("%s: %w", modulePath(folder), err)
		}
		fmt.Printf("%s %s, %d programs\n", modulePath(folder), version, len(found))
		programs = append(programs, found...)
		if library {
			libraries = append(libraries, folder)
		}
	}
	if err := allowed(env, tmp, base, version, libraries); err != nil {
		return err
	}
	if err := importer(env, tmp, version); err != nil {
		return err
	}
	for _, folder := range folders { // gorelease is done: go get and go install look for the version here
		at := filepath.Join(tmp, "proxy", modulePath(folder), "@v/list")
		if err := os.WriteFile(at, []byte(version+"\n"), 0o644); err != nil {
			return err
		}
	}
	return lines(env, installing, tmp, version, libraries, programs)
}

// allowed asks gorelease whether each library may have the version after base.
func allowed(env []string, tmp, base, version string, libraries []string) error {
	if err := command(append(os.Environ(), "GOWORK=off", "GOBIN="+filepath.Join(tmp, "bin")), tmp, "install", gorelease); err != nil {
		return err
	}
	for _, folder := range libraries {
		ask := exec.Command(filepath.Join(tmp, "bin/gorelease"), "-base="+base, "-version="+version)
		ask.Env, ask.Dir = env, filepath.Join(tmp, "src", folder)
		out, err := ask.CombinedOutput()
		if err != nil || !strings.Contains(string(out), version+" is a valid semantic version for this release.") {
			return fmt.Errorf("%s: gorelease: %w\n%s", modulePath(folder), err, out)
		}
	}
	fmt.Printf("gorelease: %s is allowed after %s\n", version, base)
	return nil
}

// The least that an importer builds: packages that are neither of the standard library nor of the tree, modules that it needs for them,
// and megabytes of its program, without symbols. Whoever raises a limit says in CHANGELOG.md why.
const (
	mostPackages  = 72
	mostModules   = 18
	mostMegabytes = 13
)

// importer builds the program of README.md in a module of its own, and prints and holds what comes with it.
func importer(env []string, tmp, version string) error {
	dir := filepath.Join(tmp, "importer")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	program, err := os.ReadFile("examples/first/first.go")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), program, 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"mod", "init", "example.com/importer"}, {"get", root + "@" + version}, {"mod", "tidy"}, {"build", "-o", "full"}, {"build", "-ldflags=-s -w", "-o", "stripped"}} {
		if err := command(env, dir, args...); err != nil {
			return err
		}
	}
	deps := exec.Command("go", "list", "-deps", "-f", `{{if not .Standard}}{{.ImportPath}} {{.Module.Path}}{{end}}`, ".")
	deps.Env, deps.Dir, deps.Stderr = env, dir, os.Stderr
	out, err := deps.Output()
	if err != nil {
		return err
	}
	ours, packages, others := 0, 0, map[string]bool{}
	for line := range strings.Lines(string(out)) {
		switch imp, module, _ := strings.Cut(strings.TrimSpace(line), " "); {
		case imp == root || strings.HasPrefix(imp, root+"/"):
			ours++
		case module != "example.com/importer":
			packages++
			others[module] = true
		}
	}
	var megabytes [2]float64
	for k, name := range []string{"full", "stripped"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		megabytes[k] = float64(info.Size()) / 1e6
	}
	fmt.Printf("the program of README.md: %d packages of ours, %d of %d other modules, %.1f MB, %.1f MB stripped\n", ours, packages, len(others), megabytes[0], megabytes[1])
	if ours == 0 || packages > mostPackages || len(others) > mostModules || megabytes[1] > mostMegabytes {
		return fmt.Errorf("an importer may get %d packages of %d modules and %d MB stripped", mostPackages, mostModules, mostMegabytes)
	}
	return nil
}

// lines runs the go get and go install lines of docs/install.md, each in a new module. The packages that a line gets must build,
// and the lines must name the version, get every module that has packages to import, and install every program.
// A new module asks for the go.mod files of versions that vetting did not fetch, so go get takes them from the network.
func lines(getting, installing []string, tmp, version string, libraries, programs []string) error {
	text, err := os.ReadFile("docs/install.md")
	if err != nil {
		return err
	}
	const flags = "GOFLAGS=-modcacherw -trimpath" // go.mod and go.sum must have all that a build needs
	envs := map[string][]string{"get": append(slices.Clone(getting), flags), "install": append(slices.Clone(installing), flags)}
	var got []string
	for k, line := range regexp.MustCompile(`(?m)^go (get|install) (\S+)@(\S+)`).FindAllStringSubmatch(string(text), -1) {
		verb, pattern := line[1], line[2]
		dir := filepath.Join(tmp, fmt.Sprint("line", k))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		commands := [][]string{{"mod", "init", "example.com/user"}, {verb, pattern + "@" + line[3]}}
		for _, args := range commands {
			if err := command(envs[verb], dir, args...); err != nil {
				return fmt.Errorf("docs/install.md: %s: %w", line[0], err)
			}
		}
		if verb == "get" {
			_, packages, err := list(envs[verb], dir, pattern)
			if err == nil {
				err = command(envs[verb], dir, append([]string{"build"}, packages...)...)
			}
			if err != nil {
				return fmt.Errorf("docs/install.md: %s: %w", line[0], err)
			}
			got = append(got, strings.TrimSuffix(pattern, "/..."))
		}
		if line[3] != version {
			return fmt.Errorf("docs/install.md: %s: the next version is %s", line[0], version)
		}
		fmt.Println(line[0])
	}
	for _, folder := range libraries {
		if !slices.Contains(got, modulePath(folder)) {
			return fmt.Errorf("docs/install.md has no go get line for %s", modulePath(folder))
		}
	}
	for _, program := range programs {
		if _, err := os.Stat(filepath.Join(tmp, "bin", filepath.Base(program))); err != nil {
			return fmt.Errorf("no go install line of docs/install.md installs %s: %w", program, err)
		}
	}
	return nil
}

var replaces = regexp.MustCompile(`(?m)^replace\b`)

// modules returns the folders of the published modules. A module with a replace line is not published: users would not have it.
func modules() (folders []string, err error) {
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (path == "conformance" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if d.Name() != "go.mod" {
			return nil
		}
		text, err := os.ReadFile(path)
		if !replaces.Match(text) {
			folders = append(folders, filepath.ToSlash(filepath.Dir(path)))
		}
		return err
	})
	slices.Sort(folders)
	return folders, err
}

func modulePath(folder string) string {
	if folder == "." {
		return root
	}
	return root + "/" + folder
}

// files returns the files of a module, relative to its folder: those below it that belong to no module further down.
func files(folder string) (out []string, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, other := os.Stat(filepath.Join(path, "go.mod"))
			if path != folder && (other == nil || d.Name() == ".git") {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || d.Name() == ".git" { // a file in a worktree
			return nil
		}
		name, err := filepath.Rel(folder, path)
		out = append(out, filepath.ToSlash(name))
		return err
	})
	return out, err
}

// publish writes a module into the proxy, in the layout of https://go.dev/ref/mod#goproxy-protocol. The list of versions stays empty:
// gorelease refuses a version that is listed.
func publish(proxy, folder, version string) error {
	at := filepath.Join(proxy, modulePath(folder), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"list": "", version + ".info": `{"Version":"` + version + `"}`, version + ".mod": string(mod)} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	archive, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		return err
	}
	defer archive.Close()
	w := zip.NewWriter(archive)
	names, err := files(folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		entry, err := w.Create(modulePath(folder) + "@" + version + "/" + name)
		if err != nil {
			return err
		}
		if _, err := entry.Write(text); err != nil {
			return err
		}
	}
	return w.Close()
}

// environment returns the environment of the go command: no workspace, a module cache of its own, the proxy in tmp before the
// module cache of the machine and the ordinary proxies. The checksum database is not asked: it cannot know modules that are
// not released, and check finds that go.sum has the sums of all others.
func environment(tmp string) ([]string, error) {
	out, err := exec.Command("go", "env", "GOPROXY", "GOMODCACHE").Output()
	if err != nil {
		return nil, err
	}
	proxies, cache, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return append(os.Environ(),
		"GOWORK=off", "GOFLAGS=-mod=mod -modcacherw -trimpath -buildvcs=false", "GOSUMDB=off",
		"GOMODCACHE="+filepath.Join(tmp, "mod"), "GOBIN="+filepath.Join(tmp, "bin"),
		"GOPROXY=file://"+filepath.Join(tmp, "proxy")+",file://"+filepath.Join(cache, "cache/download")+","+proxies), nil
}

// check vets a copy of a module at dir. It returns the import paths of the module's programs, and whether the module has
// packages that others can import. The copy's go.mod and go.sum must need nothing more than the sums of the modules that are
// about to be released.
func check(env []string, dir, folder string) (programs []string, library bool, err error) {
	names, err := files(folder)
	if err != nil {
		return nil, false, err
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, false, err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			return nil, false, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return nil, false, err
		}
	}
	if err := command(env, dir, "vet", "./..."); err != nil {
		return nil, false, err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := unchanged(filepath.Join(folder, name), filepath.Join(dir, name)); err != nil {
			return nil, false, err
		}
	}
	programs, packages, err := list(env, dir, "./...")
	programs = slices.DeleteFunc(programs, func(path string) bool { return strings.HasPrefix(path, root+"/examples/") }) // demos run from a checkout
	library = slices.ContainsFunc(packages, func(path string) bool { return !strings.Contains(path, "/internal/") })
	return programs, library, err
}

// list returns the import paths of the programs and of the other packages that a pattern matches.
func list(env []string, dir, pattern string) (programs, packages []string, err error) {
	cmd := exec.Command("go", "list", "-f", `{{.Name}} {{.ImportPath}}`, pattern)
	cmd.Env, cmd.Dir, cmd.Stderr = env, dir, os.Stderr
	out, err := cmd.Output()
	for line := range strings.Lines(string(out)) {
		name, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "main" {
			programs = append(programs, path)
		} else {
			packages = append(packages, path)
		}
	}
	return programs, packages, err
}

// unchanged returns an error when the go command added a line to a file that does not name a module of the tree.
func unchanged(before, after string) error {
	old, err := os.ReadFile(before)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(after)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		released := strings.HasPrefix(line, root+" ") || strings.HasPrefix(line, root+"/")
		if !released && !strings.Contains("\n"+string(old), "\n"+line) {
			return fmt.Errorf("%s lacks %q: run go mod tidy", before, strings.TrimSpace(line))
		}
	}
	return nil
}

// command runs the go command in a folder. The output is in the error.
func command(env []string, dir string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Env, cmd.Dir = env, dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
