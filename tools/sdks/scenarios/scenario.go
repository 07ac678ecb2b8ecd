// Writes three contacts, lists them page by page, and looks at what a program is given: the client in Go.
package main

import (
	"context"
	"fmt"
	"log"
	"net/url"
	"os"

	v1 "relayboard/v1"
	v2 "relayboard/v2"
)

var ctx = context.Background()

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A parameter of the address of the next page; nothing after the last page.
func following(next *string, parameter string) string {
	if next == nil {
		return ""
	}
	address, err := url.Parse(*next)
	check(err)
	return address.Query().Get(parameter)
}

func contains(found map[string]bool, written []string) {
	for _, uuid := range written {
		if !found[uuid] {
			log.Fatalf("%s is not listed", uuid)
		}
	}
}

func useV1(address, token string) {
	configuration := v1.NewConfiguration()
	configuration.Servers = v1.ServerConfigurations{{URL: address + "/api/v1"}}
	configuration.AddDefaultHeader("Authorization", "Token "+token)
	client := v1.NewAPIClient(configuration)
	written, found, pages := []string{}, map[string]bool{}, 0
	for number := range 3 {
		body := v1.NewContactWrite()
		body.SetName(fmt.Sprintf("Go v1 %d", number))
		body.SetUrns(v1.UrnTexts{ArrayOfString: &[]string{fmt.Sprintf("tel:+25078830100%d", number)}})
		contact, _, err := client.ContactsAPI.WriteContact(ctx).ContactWrite(*body).Execute()
		check(err)
		if contact.ModifiedOn.IsZero() {
			log.Fatal("no time")
		}
		written = append(written, contact.Uuid)
	}
	for page := "1"; page != ""; pages++ {
		listed, _, err := client.ContactsAPI.ListContacts(ctx).Page(page).Execute()
		check(err)
		for _, each := range listed.Results {
			found[each.Uuid] = true
		}
		page = following(listed.Next.Get(), "page")
	}
	contains(found, written)
	fmt.Printf("go v1: %d contacts on %d pages\n", len(found), pages)
}

func useV2(address, token string) {
	configuration := v2.NewConfiguration()
	configuration.Servers = v2.ServerConfigurations{{URL: address + "/api/v2"}}
	configuration.AddDefaultHeader("Authorization", "Token "+token)
	client := v2.NewAPIClient(configuration)
	written, found, pages := []string{}, map[string]bool{}, 0
	for number := range 3 {
		body := v2.NewContactWrite()
		body.SetName(fmt.Sprintf("Go v2 %d", number))
		body.SetUrns([]string{fmt.Sprintf("tel:+25078830200%d", number)})
		contact, _, err := client.ContactsAPI.WriteContact(ctx).ContactWrite(*body).Execute()
		check(err)
		if contact.CreatedOn.IsZero() || *contact.Status.Get() != v2.CONTACTSTATUSORNULL_ACTIVE {
			log.Fatal("no time, or another status")
		}
		written = append(written, contact.Uuid)
	}
	request := client.ContactsAPI.ListContacts(ctx)
	for cursor := "first"; cursor != ""; pages++ {
		listed, _, err := request.Execute()
		check(err)
		for _, each := range listed.Results {
			found[each.Uuid] = true
		}
		cursor = following(listed.Next.Get(), "cursor")
		request = client.ContactsAPI.ListContacts(ctx).Cursor(cursor)
	}
	contains(found, written)
	fmt.Printf("go v2: %d contacts on %d pages\n", len(found), pages)
}

func main() {
	useV1(os.Getenv("RELAYBOARD_URL"), os.Getenv("RELAYBOARD_TOKEN"))
	useV2(os.Getenv("RELAYBOARD_URL"), os.Getenv("RELAYBOARD_TOKEN"))
}
