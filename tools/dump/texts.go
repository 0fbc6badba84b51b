package dump

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Texts gives each the unpacked text of every file that [Read] reads at paths, in its order. Standard input cannot be read twice and is left
// out, and so is a file of more than most bytes, unpacked. The error is that of the first file that cannot be read, or what each returned.
func Texts(paths []string, most int64, o Options, each func(file string, text []byte) error) error {
	for _, path := range paths {
		if path == "-" {
			continue
		}
		if err := files(path, func(file string) error { return textOf(file, most, o, each) }); err != nil {
			return err
		}
	}
	return nil
}

func textOf(file string, most int64, o Options, each func(file string, text []byte) error) (err error) {
	o.Progress = nil
	_, in, closing, err := reading(file, nil, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closing()) }()
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil || int64(len(text)) > most {
		return err
	}
	return each(file, text)
}

// files gives each the files at path: the path itself, or those of the folder that have a name that is read.
func files(path string, each func(file string) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return each(path)
	}
	return filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !readable(file) {
			return err
		}
		return each(file)
	})
}

func readable(file string) bool {
	switch filepath.Ext(strings.TrimSuffix(file, ".gz")) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}
