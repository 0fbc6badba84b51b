package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
)

// snapshot is a cluster that was read.
type snapshot struct {
	in       io.Reader // of dump.Hold
	objects  *dump.Objects
	warnings []string
	at       time.Time
}

// asker has the snapshot that questions share.
type asker struct {
	o    Options
	now  func() time.Time
	lock sync.Mutex
	kept *snapshot
}

// take returns the kept snapshot, or reads a new one.
func (a *asker) take(ctx context.Context, fresh bool) (*snapshot, error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if a.kept != nil && !fresh && (a.o.Keep == 0 || a.now().Sub(a.kept.at) < a.o.Keep) {
		return a.kept, nil
	}
	at := a.now()
	// A reader that goes away does not end the reading: the next question needs the snapshot too.
	objects, warnings, err := a.o.Read(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	a.kept = &snapshot{in: dump.Hold(objects), objects: objects, warnings: warnings, at: at}
	return a.kept, nil
}

// question is one call of a tool.
type question struct {
	*asker
	ctx        context.Context
	snapshot   *snapshot
	warnings   []string // of the commands
	incomplete string
}

// runner is a command of package tools.
type runner func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int

// run asks a command about the snapshot, or about other objects, and reads its JSON into answer.
func (q *question) run(name string, run runner, in io.Reader, answer any, args ...string) error {
	var out, errs bytes.Buffer
	code := run(q.ctx, append([]string{"-f=-", "-o=json"}, args...), in, &out, &errs)
	var failed []string
	for line := range strings.Lines(errs.String()) {
		line = strings.TrimSpace(line)
		if text, is := strings.CutPrefix(line, "warning: "); is {
			q.warnings = append(q.warnings, text)
		} else if line != "" {
			failed = append(failed, line)
		}
	}
	if err := q.ctx.Err(); err != nil {
		return err
	}
	if out.Len() == 0 {
		if code == program.OK || len(failed) == 0 {
			return fmt.Errorf("%s said nothing, with exit code %d", name, code)
		}
		return errors.New(inArguments(strings.TrimPrefix(failed[0], name+": ")))
	}
	return json.Unmarshal(out.Bytes(), answer)
}

// inArguments writes the arguments of tools for the flags of commands in an error.
func inArguments(text string) string {
	for flag, argument := range map[string]string{"-explain": "pod", "-how-many": "pod", "-where": "node", "-workload": "workload", "NODE": "nodes"} {
		if rest, is := strings.CutPrefix(text, flag+": "); is {
			return argument + ": " + rest
		}
	}
	if rest, is := strings.CutPrefix(text, "-"); is {
		if verb, why, found := strings.Cut(rest, ": "); found {
			return "changes: " + actions.name(verb) + ": " + why
		}
	}
	return text
}

// allWarnings returns those of the reading, of the dump and of the commands, each once.
func (q *question) allWarnings() []string {
	out, seen := []string{}, map[string]bool{}
	for _, list := range [][]string{q.snapshot.warnings, q.snapshot.objects.Warnings.Lines(), q.warnings} {
		for _, text := range list {
			if !seen[text] {
				seen[text] = true
				out = append(out, text)
			}
		}
	}
	return out
}

// counts is the resource.
func (a *asker) counts(ctx context.Context) (string, error) {
	s, err := a.take(ctx, false)
	if err != nil {
		return "", err
	}
	kinds, waiting := map[string]int{}, 0
	for kind := range s.objects.All() {
		kinds[kind.Kind]++
	}
	for _, p := range s.objects.Pods {
		if dump.Pending(p) {
			waiting++
		}
	}
	q := &question{snapshot: s}
	out, err := a.result(&envelope{AsOf: s.at.UTC().Format(time.RFC3339), Release: release.Current.Patch(), Warnings: q.allWarnings()},
		reply{data: struct {
			Kinds   map[string]int `json:"kinds"`
			Pending int            `json:"pending"`
		}{kinds, waiting}})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(out.StructuredContent)
	return string(text), err
}
