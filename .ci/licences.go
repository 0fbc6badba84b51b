// Command licences lists the modules that the programs of this repository link, each with its version and its licence. It fails when a
// module has no licence file, or one that it does not know. It runs in the root folder.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// known are the licences by a text that only they have, the more special first.
var known = []struct{ name, text string }{
	{"Apache-2.0", "Apache License"},
	{"MPL-2.0", "Mozilla Public License"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"BSD", "Redistribution and use in source and binary forms"},
}

func main() {
	if err := list(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func list(out io.Writer) error {
	command := exec.Command("go", "list", "-deps", "-json=Module", "./cmd/...")
	command.Stderr = os.Stderr
	data, err := command.Output()
	if err != nil {
		return err
	}
	lines := map[string]bool{}
	for d := json.NewDecoder(strings.NewReader(string(data))); ; {
		var p struct {
			Module *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		if p.Module == nil || p.Module.Main || strings.HasPrefix(p.Module.Path, "github.com/podberth/") {
			continue // the standard library, and the repository itself
		}
		name, err := licence(p.Module.Dir)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Module.Path, err)
		}
		lines[fmt.Sprintf("%s %s %s", p.Module.Path, p.Module.Version, name)] = true
	}
	var all []string
	for line := range lines {
		all = append(all, line)
	}
	slices.Sort(all)
	_, err = fmt.Fprintln(out, strings.Join(all, "\n"))
	return err
}

// licence returns the licence of a module's folder.
func licence(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return "", err
	}
	for _, file := range files {
		name := strings.ToUpper(filepath.Base(file))
		if !strings.HasPrefix(name, "LICENSE") && !strings.HasPrefix(name, "LICENCE") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		text := strings.Join(strings.Fields(string(data)), " ")
		for _, k := range known {
			if strings.Contains(text, k.text) {
				return k.name, nil
			}
		}
		return "", fmt.Errorf("%s: an unknown licence", filepath.Base(file))
	}
	return "", fmt.Errorf("no licence file")
}
