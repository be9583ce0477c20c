// SPDX-License-Identifier: BSD-3-Clause

// gomemcache behind the language of ../README.md.
//
//	gomemcache HOST PORT
package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

type talk struct {
	server string
	client *memcache.Client
	items  map[string]*memcache.Item
}

func (t *talk) open() {
	t.client = memcache.New(t.server)
	t.client.Timeout = 20 * time.Second
}

// A refusal or a miss is an answer; anything else is an error.
func flagReply(err error) (string, error) {
	switch err {
	case nil:
		return "yes", nil
	case memcache.ErrCacheMiss, memcache.ErrNotStored, memcache.ErrCASConflict:
		return "no", nil
	}
	return "", err
}

func numberReply(number uint64, err error) (string, error) {
	if err == memcache.ErrCacheMiss {
		return "none", nil
	}
	return fmt.Sprint("number ", number), err
}

func encode(value []byte) string {
	return base64.StdEncoding.EncodeToString(value)
}

func (t *talk) get(key string) (string, error) {
	item, err := t.client.Get(key)
	if err == memcache.ErrCacheMiss {
		return "none", nil
	}
	if err != nil {
		return "", err
	}
	t.items[key] = item
	return "value " + encode(item.Value), nil
}

func (t *talk) multi(keys []string) (string, error) {
	found, err := t.client.GetMulti(keys)
	reply := "values"
	for key, item := range found {
		reply += " " + key + "=" + encode(item.Value)
	}
	return reply, err
}

func (t *talk) store(verb string, words []string) (string, error) {
	ttl, err := strconv.Atoi(words[1])
	if err != nil {
		return "", err
	}
	value := []byte{}
	if len(words) > 2 {
		if value, err = base64.StdEncoding.DecodeString(words[2]); err != nil {
			return "", err
		}
	}
	item := &memcache.Item{Key: words[0], Value: value, Expiration: int32(ttl)}
	switch verb {
	case "set":
		return flagReply(t.client.Set(item))
	case "add":
		return flagReply(t.client.Add(item))
	case "replace":
		return flagReply(t.client.Replace(item))
	case "cas":
		known := t.items[words[0]]
		known.Value, known.Expiration = value, int32(ttl)
		return flagReply(t.client.CompareAndSwap(known))
	}
	return "", fmt.Errorf("no such command: %s", verb)
}

func (t *talk) obey(verb string, words []string) (string, error) {
	switch verb {
	case "open":
		t.open()
		return "yes", nil
	case "get", "gets":
		return t.get(words[0])
	case "multi":
		return t.multi(words)
	case "delete":
		return flagReply(t.client.Delete(words[0]))
	case "flush":
		return flagReply(t.client.FlushAll())
	case "touch", "incr", "decr":
		number, err := strconv.ParseUint(words[1], 10, 31)
		if err != nil {
			return "", err
		}
		switch verb {
		case "touch":
			return flagReply(t.client.Touch(words[0], int32(number)))
		case "incr":
			return numberReply(t.client.Increment(words[0], number))
		}
		return numberReply(t.client.Decrement(words[0], number))
	}
	return t.store(verb, words)
}

func main() {
	t := &talk{server: os.Args[1] + ":" + os.Args[2], items: map[string]*memcache.Item{}}
	t.open()
	fmt.Println("ready set get add replace cas incr decr touch delete multi flush")
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<22)
	for input.Scan() {
		words := strings.Fields(input.Text())
		reply, err := t.obey(words[0], words[1:])
		if err != nil {
			reply = "error " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(reply)
	}
}
